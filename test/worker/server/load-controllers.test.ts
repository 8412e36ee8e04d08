import { describe, expect, it } from 'vitest'

import { activitiesOf, defineLevel, nop, type OwnActivities } from '../../../workflows/kit/index.ts'
import { loadOwnActivities } from '../../../worker/server/load-controllers.ts'

const fetchQuote = () => Promise.resolve(1)
const options = { timeoutMs: 1000 }
const define = (activities?: OwnActivities) =>
  defineLevel({
    name: 'shop',
    target: { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' },
    queries: {},
    plan: nop,
    ...(activities && { activities }),
  })
const load = async (module: object, declared: object) =>
  await loadOwnActivities([define({ load: () => Promise.resolve(module), options: declared } as OwnActivities)])

describe('the modules of activities', () => {
  it('are loaded for controllers with activities', async () => {
    const controllers = [define(), define(activitiesOf(() => Promise.resolve({ fetchQuote }), { fetchQuote: options }))]
    expect([...(await loadOwnActivities(controllers))]).toEqual([['shop', { fetchQuote }]])
  })

  it('may have exports that are not activities', async () => {
    class Quote extends Error {}
    await load({ fetchQuote, Quote, limit: 1, round: (value: number) => value }, { fetchQuote: options })
  })

  it.each([
    [{ fetchQuote }, { fetchQuote: options, ping: options }, 'ping is declared but not exported'],
    [{ fetchQuote: 5 }, { fetchQuote: options }, 'fetchQuote is declared but not exported'],
    [
      { fetchQuote, ping: async () => await fetchQuote() },
      { fetchQuote: options },
      'ping is exported but not declared',
    ],
  ])('are refused when they are not as declared (%#)', async (module, declared, message) => {
    await expect(load(module, declared)).rejects.toThrow(`controller shop: activities: ${message}`)
  })

  it('are rejected if they cannot be loaded', async () => {
    const missing = { load: () => Promise.reject(new Error('no such file')), options: {} }
    await expect(loadOwnActivities([define(missing)])).rejects.toThrow(
      'controller shop: cannot load its activities: no such file',
    )
  })
})
