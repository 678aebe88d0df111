/// A date in the forms that servers send: 10:00:10 on the first of November 2023.
package let formsOfDate: [String] = [
  "Wed, 01 Nov 2023 10:00:10 GMT", "wed, 01 nov 2023 10:00:10 gmt", "WED, 01 NOV 2023 10:00:10 GMT",
  "Wed, 1 Nov 2023 10:00:10 GMT", "Wed, 01 Nov 2023 10:00:10 UTC", "Wed, 01 Nov 2023 10:00:10 +0000",
  "Wed, 01 Nov 2023 10:00:10 GMT+0000", "Wed, 01 Nov 2023 10:00:10 GMT+00:00 (UTC)", "Wed, 01 Nov 2023 10:00:10Z",
  "Wed, 01 Nov 2023 10:00:10", "01 Nov 2023 10:00:10 GMT", "Thu, 01 Nov 2023 10:00:10 GMT",
  "Wed,01 Nov 2023 10:00:10 GMT", "Wed, 01-Nov-2023 10:00:10 GMT", "Wednesday, 01-Nov-23 10:00:10 GMT",
  "Wed, 01 Nov 23 10:00:10 GMT", "Wed Nov  1 10:00:10 2023", "Wed Nov 1 10:00:10 UTC 2023",
  "Wednesday, 1 November 2023 10:00:10 GMT",
]
