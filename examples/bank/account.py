"""An account: what has happened to it, and what may. Nothing here knows where events are kept. Amounts are cents."""

from dataclasses import dataclass


class Refused(Exception):
    """What the rules of the bank forbid."""


@dataclass
class Account:
    """The state that an account's events add up to."""

    is_open: bool = False
    balance: int = 0

    def after(self, event):
        """The state after one more event; `event` has a type and data."""
        return Account(self.is_open or event["type"] == "AccountOpened", self.balance + change(event))


def change(event):
    """What an event does to its account's balance."""
    amount = event["data"].get("amount", 0)
    return {
        "AccountOpened": 0,
        "MoneyDeposited": amount,
        "MoneyWithdrawn": -amount,
        "TransferReceived": amount,
        "TransferSent": -amount,
        # A correction has the difference between what was recorded and what was true.
        "DepositCorrected": amount,
    }[event["type"]]


# Commands: from a state to the event that is to happen, or refused.


def open_account(account, owner):
    if account.is_open:
        raise Refused("the account is open already")
    return {"type": "AccountOpened", "data": {"owner": owner}}


def deposit(account, amount):
    _check(account, amount)
    return {"type": "MoneyDeposited", "data": {"amount": amount}}


def withdraw(account, amount):
    _check(account, amount)
    _check_funds(account, amount)
    return {"type": "MoneyWithdrawn", "data": {"amount": amount}}


def transfer(sender, receiver, sent_from, sent_to, amount, number):
    """One event for each of the two accounts."""
    _check(sender, amount)
    _check(receiver, amount)
    _check_funds(sender, amount)
    return (
        {"type": "TransferSent", "data": {"amount": amount, "transfer": number, "to": sent_to}},
        {"type": "TransferReceived", "data": {"amount": amount, "transfer": number, "from": sent_from}},
    )


def correct_deposit(account, wrong, right_amount):
    """`wrong`: the event of a deposit of another amount."""
    difference = right_amount - wrong["data"]["amount"]
    if account.balance + difference < 0:
        raise Refused("the correction would overdraw the account")
    return {"type": "DepositCorrected", "data": {"amount": difference, "corrects": wrong["id"]}, "time": wrong["time"]}


def _check(account, amount):
    if not account.is_open:
        raise Refused("there is no such account")
    if amount <= 0:
        raise Refused("an amount is more than nothing")


def _check_funds(account, amount):
    if account.balance < amount:
        raise Refused(f"there are {account.balance / 100:.2f} in the account, not {amount / 100:.2f}")
