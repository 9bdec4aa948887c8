use super::collides;

#[test]
fn names_collide_that_differ_in_dots_and_underscores_only() {
    for (one, other) in [("a.b", "a_b"), ("a_b", "a.b"), ("..x", "__x"), ("a.b_c", "a_b.c")] {
        assert!(collides(one, other), "{one} {other}");
    }
    for (one, other) in [("a.b", "a.b"), ("a", "b"), ("a.b", "a-b"), ("a.b", "a_bc"), ("a", "A")] {
        assert!(!collides(one, other), "{one} {other}");
    }
}
