import { describe, expect, it } from 'vitest'

import { pageAt } from '../../../worker/cli/temporal-address.ts'

const run = { workflowID: 'installation/team-a/shop/i1/j1', runID: 'r-1' }

describe("the page of a run in Temporal's UI", () => {
  it.each([
    ['http://127.0.0.1:8233', 'http://127.0.0.1:8233'],
    ['https://temporal.example.com/ui/', 'https://temporal.example.com/ui'],
  ])('is a path below %s', (base, root) => {
    expect(pageAt(base, 'default', run)).toBe(
      `${root}/namespaces/default/workflows/installation%2Fteam-a%2Fshop%2Fi1%2Fj1/r-1/history`,
    )
  })

  it.each(['127.0.0.1:8233', 'ftp://here', ''])('is refused for the address %j', (base) => {
    expect(() => pageAt(base, 'default', run)).toThrow(`--temporal-ui: "${base}" is not a URL; expected for example`)
  })
})
