//! The query part of a URL. A parameter nobody knows is refused: one that is silently ignored is worse than none.

use std::str::FromStr;

use axum::extract::Query;
use axum::http::Uri;

use super::problem::Problem;

#[derive(Debug)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Accepts only parameters of these names.
    pub fn read(uri: &Uri, known: &[&str]) -> Result<Self, Problem> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|fault| Problem::malformed(format!("the query of the URL: {fault}")))?;
        match pairs.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) if known.is_empty() => {
                Err(Problem::malformed(format!("there is no parameter {name}; this path has none")))
            }
            Some((name, _)) => {
                let known = known.join(", ");
                Err(Problem::malformed(format!("there is no parameter {name}; this path has {known}")))
            }
            None => Ok(Self(pairs)),
        }
    }

    /// The value of a parameter that may stand once.
    pub fn one(&self, name: &str) -> Result<Option<&str>, Problem> {
        let mut values = self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let value = values.next();
        match values.next() {
            Some(_) => Err(Problem::malformed(format!("the parameter {name} stands twice"))),
            None => Ok(value),
        }
    }

    /// All values of a parameter that may stand several times.
    pub fn all(&self, name: &str, count_max: usize) -> Result<Vec<String>, Problem> {
        let values: Vec<_> = self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.clone()).collect();
        match values.len() > count_max {
            true => Err(Problem::malformed(format!("the parameter {name} may stand {count_max} times"))),
            false => Ok(values),
        }
    }

    pub fn parsed<T: FromStr>(&self, name: &str, accepted: &str) -> Result<Option<T>, Problem> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        let wrong = |_| Problem::malformed(format!("{name}={text}: {accepted} is expected"));
        text.parse().map(Some).map_err(wrong)
    }

    /// How many are wanted, from 1 to `max`.
    pub fn limit(&self, default: usize, max: usize) -> Result<usize, Problem> {
        let accepted = format!("a number from 1 to {max}");
        match self.parsed("limit", &accepted)?.unwrap_or(default) {
            limit if (1..=max).contains(&limit) => Ok(limit),
            limit => Err(Problem::malformed(format!("limit={limit}: {accepted} is expected"))),
        }
    }

    pub fn flag(&self, name: &str, default: bool) -> Result<bool, Problem> {
        Ok(self.parsed(name, "true or false")?.unwrap_or(default))
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }
}
