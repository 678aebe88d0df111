/// The secret in all tests that need one. `.ci/run` fails if the output of the tests contains it. H11 (nothing printable shows
/// a secret).
package let sentinel = "FUTURETREEsentinelSECRET"
