//! Make, change and remove persistent (competing) subscriptions. What a subscription is, only its engine knows.

use bytes::Bytes;
use thiserror::Error;

use crate::encoding::{DecodeError, Reader, Writer};

/// Keeps `body` under `name`. A progress report is one of these too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutSubscription {
    pub name: String,
    pub only_if: SubscriptionMustBe,
    pub body: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionMustBe {
    /// Not there yet: it is made.
    New,
    /// There already: it is changed.
    Known,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteSubscription {
    pub name: String,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SubscriptionRefusal {
    #[error("the subscription exists")]
    Exists,
    #[error("the subscription does not exist")]
    Unknown,
}

impl PutSubscription {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.text(&self.name);
        out.u8((self.only_if == SubscriptionMustBe::Known).into());
        out.rest(self.body.clone());
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        let name = from.text()?;
        let only_if = match from.u8()? {
            0 => SubscriptionMustBe::New,
            1 => SubscriptionMustBe::Known,
            _ => return Err(DecodeError::Malformed),
        };
        Ok(Self { name, only_if, body: from.rest() })
    }
}

impl DeleteSubscription {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.text(&self.name);
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self { name: from.text()? })
    }
}
