//! Whom a quota is for, and how that is written as the name of a resource.
//!
//! A part is a letter (u user, c client id, i IP address), then `-` for the default of all that have none of their own, or `+`, the
//! length of the name, a colon and the name.

/// At least one part is there; an IP address stands alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entity {
    pub user: Option<Name>,
    pub client_id: Option<Name>,
    pub ip: Option<Name>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// Whoever has no quota of its own.
    Default,
    Of(String),
}

/// Kafka's names of the parts.
pub(crate) const USER: &str = "user";
pub(crate) const CLIENT_ID: &str = "client-id";
pub(crate) const IP: &str = "ip";

impl Name {
    pub fn of(name: &str) -> Self {
        Self::Of(name.to_owned())
    }

    pub fn as_option(&self) -> Option<&str> {
        match self {
            Self::Default => None,
            Self::Of(name) => Some(name),
        }
    }
}

impl Entity {
    /// The parts with Kafka's names for them.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &Name)> {
        let parts = [(USER, &self.user), (CLIENT_ID, &self.client_id), (IP, &self.ip)];
        parts.into_iter().filter_map(|(kind, name)| Some((kind, name.as_ref()?)))
    }

    /// The part that Kafka calls so; none if there is no such part.
    pub fn part_mut(&mut self, kind: &str) -> Option<&mut Option<Name>> {
        match kind {
            USER => Some(&mut self.user),
            CLIENT_ID => Some(&mut self.client_id),
            IP => Some(&mut self.ip),
            _ => None,
        }
    }

    pub fn encode(&self) -> String {
        let part = |(kind, name): (&str, &Name)| {
            let letter = &kind[..1];
            match name {
                Name::Default => format!("{letter}-"),
                Name::Of(name) => format!("{letter}+{}:{name}", name.len()),
            }
        };
        self.parts().map(part).collect()
    }

    /// Reads what `encode` wrote.
    pub fn decode(text: &str) -> Option<Self> {
        let mut entity = Self::default();
        let mut left = text;
        while !left.is_empty() {
            let kind = [USER, CLIENT_ID, IP].into_iter().find(|kind| left.starts_with(&kind[..1]))?;
            left = &left[1..];
            let name = match left.strip_prefix('-') {
                Some(rest) => {
                    left = rest;
                    Name::Default
                }
                None => {
                    let (length, rest) = left.strip_prefix('+')?.split_once(':')?;
                    let (name, rest) = rest.split_at_checked(length.parse().ok()?)?;
                    left = rest;
                    Name::of(name)
                }
            };
            *entity.part_mut(kind)? = Some(name);
        }
        Some(entity).filter(|entity| entity.parts().next().is_some())
    }
}
