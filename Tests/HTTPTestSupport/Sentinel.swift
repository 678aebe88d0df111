/// The secret of every test that has one. `.ci/run` looks for it in what the tests printed, and must not find it there (H11).
package let sentinel = "FUTURETREEsentinelSECRET"
