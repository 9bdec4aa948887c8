//! Tokens: whoever wrote can hand on what a read has to see.

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use daybook_event_store::Token;
use daybook_types::Lsn;
use tokio::time::timeout;

use super::Api;
use super::call;
use super::parameters::Parameters;
use super::problem::Problem;

/// Name of the header, in requests and answers.
pub const HEADER: &str = "daybook-token";
/// Name of the parameter; it comes before the header.
pub const PARAMETER: &str = "token";

pub fn of(api: &Api, lsn: Lsn) -> Token {
    Token { shard: api.options.shard, lsn }
}

pub fn into_header(mut response: Response, token: Token) -> Response {
    let value = HeaderValue::from_str(&token.to_string()).expect("digits and a colon");
    response.headers_mut().insert(HEADER, value);
    response
}

/// Waits until what the request's token names is applied, if it has one.
pub async fn wait(api: &Api, parameters: &Parameters, headers: &HeaderMap) -> Result<(), Problem> {
    let text = match parameters.one(PARAMETER)? {
        Some(text) => text,
        None => match call::text(headers, HEADER)? {
            Some(text) => text,
            None => return Ok(()),
        },
    };
    let token: Token =
        text.parse().map_err(|()| Problem::malformed(format!("{text} is no token; they are shard:lsn")))?;
    if token.shard != api.options.shard {
        let detail = format!("the token is of shard {}, these events are in shard {}", token.shard, api.options.shard);
        return Err(Problem::unprocessable(detail));
    }
    let limit = api.options.token_wait_max;
    timeout(limit, api.store.wait_applied(token.lsn)).await.map_err(|_| {
        let detail = format!("{token} was not applied after {} ms; ask again", limit.as_millis());
        let title = "what the token names is not applied yet";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-yet-applied", title, detail)
    })
}
