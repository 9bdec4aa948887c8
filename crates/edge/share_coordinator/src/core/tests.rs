//! The pure half on its own: the window by random histories, members and sessions by short stories.

mod members;
mod sessions;
mod window;
