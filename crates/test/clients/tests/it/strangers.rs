//! Bytes on the Kafka port that are no requests: they close their own connection and nobody else's.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use crate::broker::{new_topic, shared};
use crate::raw::{call, connect, frame, header};
use crate::reading::{contents, read_all};
use crate::writing::{Content, producer, write};

/// What came back until the server closed the connection.
fn answer_until_closed(bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(shared());
    // The server may close before it has read everything.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => answer,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => answer,
        Err(error) => panic!("the connection stays open: {error}, after {answer:?}"),
    }
}

#[test]
fn strangers_lose_their_connection_and_nobody_else_does() {
    let topic = new_topic(shared(), "strangers", 1, &[]);
    let producer = producer(shared(), &[]);
    write(&producer, &topic, 0, &[Content::value("before")]);
    // Records, handshake, version, length, client hello, and what follows it.
    let client_hello = [&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3][..], &[0x5a; 505]].concat();
    let produce = header(0, 9);
    let strangers: Vec<(&str, Vec<u8>)> = vec![
        ("HTTP", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()),
        ("TLS", client_hello),
        ("SSH", b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()),
        ("a length of 2 GiB", i32::MAX.to_be_bytes().to_vec()),
        ("a negative length", (-1_i32).to_be_bytes().to_vec()),
        ("the most negative length", i32::MIN.to_be_bytes().to_vec()),
        ("nothing in a frame", frame(&[])),
        ("half a header in a frame", frame(&[0, 18, 0])),
        ("zeros", vec![0; 4096]),
        ("an API that nobody has", frame(&header(9_999, 0))),
        ("a negative API", frame(&header(-5, 0))),
        ("a version that nobody has", frame(&header(3, 9_999))),
        ("a body that ends early", frame(&produce)),
        ("a body of noise", frame(&[&produce[..], &[0xff; 200]].concat())),
        ("an array longer than memory", frame(&[&header(3, 1)[..], &i32::MAX.to_be_bytes()].concat())),
    ];
    for (what, bytes) in &strangers {
        let answer = answer_until_closed(bytes);
        assert!(answer.is_empty(), "{what} is answered with {answer:?}");
        // The same producer, over the same connection.
        write(&producer, &topic, 0, &[Content::value(*what)]);
    }
    let mut expected = vec![Content::value("before")];
    expected.extend(strangers.iter().map(|(what, _)| Content::value(*what)));
    assert_eq!(contents(read_all(shared(), &topic, 0)), expected);
}

#[test]
fn who_goes_in_the_middle_of_a_frame_harms_nobody() {
    let topic = new_topic(shared(), "half-frames", 1, &[]);
    let producer = producer(shared(), &[]);
    for cut in [1, 3, 4, 5, 10, 13] {
        let whole = frame(&[&header(18, 0)[..], &[0; 10]].concat());
        let mut stream = TcpStream::connect(shared()).unwrap();
        stream.write_all(&whole[..cut]).unwrap();
        drop(stream);
        write(&producer, &topic, 0, &[Content::value("x")]);
    }
    assert_eq!(read_all(shared(), &topic, 0).len(), 6);
}

#[test]
fn a_connection_survives_asking_in_a_version_that_is_not_supported() {
    const UNSUPPORTED_VERSION: i16 = 35;
    let mut stream = connect(shared());
    let mut ask = |version: i16| {
        let request = match version {
            0 => header(18, 0),
            // With what newer versions would have; nobody can know.
            _ => [&header(18, version)[..], &[0, 2, b'x', 2, b'1', 0]].concat(),
        };
        call(&mut stream, &request).i16()
    };
    assert_eq!(ask(999), UNSUPPORTED_VERSION);
    assert_eq!(ask(0), 0);
    assert_eq!(ask(999), UNSUPPORTED_VERSION);
}
