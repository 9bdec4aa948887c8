use super::Collisions;

#[test]
fn names_collide_that_differ_in_dots_and_underscores_only() {
    for (one, other) in [("a.b", "a_b"), ("a_b", "a.b"), ("..x", "__x"), ("a.b_c", "a_b.c")] {
        let mut collisions = Collisions::default();
        collisions.add(one);
        assert_eq!(collisions.with(other), Some(one));
    }
    for (one, other) in [("a.b", "a.b"), ("a", "b"), ("a.b", "a-b"), ("a.b", "a_bc"), ("a_b", "A_b")] {
        let mut collisions = Collisions::default();
        collisions.add(one);
        assert_eq!(collisions.with(other), None, "{one} {other}");
    }
}
