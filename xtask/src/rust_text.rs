//! Rust source as far as the rules must understand it: comments and literals blanked out, and the paths that it names.
//!
//! No parser: it knows where comments, strings and characters end, and how a `use` tree nests. That is enough for rules that look
//! for names.

/// Source whose comments and literals are spaces. Lines stay where they were.
#[derive(Debug)]
pub struct Code {
    text: String,
}

/// `a::b::C`, as written or as a `use` tree spells it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    pub text: String,
    /// From 1.
    pub line: usize,
}

impl Path {
    /// Whether the first segments are those of `prefix`.
    pub fn begins_with(&self, prefix: &str) -> bool {
        self.text.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    }
}

impl Code {
    pub fn of(source: &str) -> Self {
        let mut text = String::with_capacity(source.len());
        let mut rest = source;
        while !rest.is_empty() {
            let (is_code, length) = next_piece(rest, text.chars().next_back());
            let piece = &rest[..length];
            if is_code {
                text.push_str(piece);
            } else {
                text.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            }
            rest = &rest[length..];
        }
        Self { text }
    }

    /// Lines from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Every path, those of `use` trees written out. A path ends where its generics begin.
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        // The prefixes of the groups that are open, outermost first.
        let mut groups: Vec<String> = Vec::new();
        let mut plain_braces = 0_usize;
        let mut current = String::new();
        let mut line = 1;
        let mut finish = |current: &mut String, groups: &[String], line: usize| {
            if !current.is_empty() {
                let prefix: String = groups.concat();
                let text = format!("{prefix}{current}");
                // `::std::fs` is `std::fs`, and `fs::` before generics or a star is `fs`.
                paths.push(Path { text: text.trim_matches(':').to_owned(), line });
                current.clear();
            }
        };
        let mut chars = self.text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                _ if c == '_' || c.is_alphanumeric() => current.push(c),
                ':' if chars.peek() == Some(&':') => {
                    chars.next();
                    current.push_str("::");
                }
                '{' if current.ends_with("::") => groups.push(std::mem::take(&mut current)),
                '{' => {
                    finish(&mut current, &groups, line);
                    if !groups.is_empty() {
                        plain_braces += 1;
                    }
                }
                '}' => {
                    finish(&mut current, &groups, line);
                    if plain_braces > 0 {
                        plain_braces -= 1;
                    } else {
                        groups.pop();
                    }
                }
                _ => {
                    finish(&mut current, &groups, line);
                    if c == '\n' {
                        line += 1;
                    }
                }
            }
        }
        finish(&mut current, &groups, line);
        paths
    }
}

/// Whether what comes next is code, and how many bytes of it there are. Never 0.
fn next_piece(rest: &str, before: Option<char>) -> (bool, usize) {
    let first = rest.chars().next().map_or(1, char::len_utf8);
    let is_in_word = before.is_some_and(|c| c == '_' || c.is_alphanumeric());
    if rest.starts_with("//") {
        return (false, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (false, block_comment(rest));
    }
    if rest.starts_with('"') {
        return (false, quoted(rest, 1, '"'));
    }
    if !is_in_word {
        let word = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
        let skipped = rest.len() - word.len();
        if let Some(raw) = word.strip_prefix('r') {
            let hashes = raw.len() - raw.trim_start_matches('#').len();
            if raw[hashes..].starts_with('"') {
                let end = format!("\"{}", "#".repeat(hashes));
                let body = skipped + 1 + hashes + 1;
                return (false, rest[body..].find(&end).map_or(rest.len(), |at| body + at + end.len()));
            }
        }
        if skipped == 1 && word.starts_with('"') {
            return (false, quoted(rest, 2, '"'));
        }
        if skipped == 1 && word.starts_with('\'') {
            return (false, quoted(rest, 2, '\''));
        }
    }
    if let Some(inner) = rest.strip_prefix('\'') {
        // A character, not a lifetime: escaped, or closed after one.
        let is_char = inner.starts_with('\\') || inner.chars().nth(1) == Some('\'');
        return if is_char { (false, quoted(rest, 1, '\'')) } else { (true, 1) };
    }
    (true, first)
}

/// Length up to and with the closing mark.
fn quoted(rest: &str, from: usize, mark: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest[from..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == mark => return from + at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}
