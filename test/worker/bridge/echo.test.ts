import { describe, expect, it } from 'vitest'
import { looksLikeOwnWrite } from '../../../worker/bridge/pending.ts'

const NOW = Date.parse('2030-01-01T00:00:10.500Z')
const at = (second: number) => `2030-01-01T00:00:${String(second).padStart(2, '0')}Z`
const object = (managers: Readonly<Record<string, number>>, deletedAt?: number) => ({
  metadata: {
    name: 'a',
    managedFields: Object.entries(managers).map(([manager, second]) => ({ manager, time: at(second) })),
    ...(deletedAt !== undefined && { deletionTimestamp: at(deletedAt) }),
  },
})

describe('an event looks like a write of our own', () => {
  it.each([
    ['when a controller of ours was the last to write', { kubectl: 5, 'pawl-widget': 10 }],
    ['when it wrote in the same second as another', { kubectl: 10, 'pawl-widget': 10 }],
  ])('%s', (_, managers) => {
    expect(looksLikeOwnWrite(object(managers), NOW)).toBe(true)
  })

  it.each([
    ['when another wrote later', object({ 'pawl-widget': 9, kubectl: 10 })],
    ['when that is long ago: labels of others, or a deletion, need not show', object({ kubectl: 1, 'pawl-widget': 8 })],
    ['when it was deleted since, or in that second', object({ 'pawl-widget': 10 }, 10)],
    ['when nothing is said of its writers', { metadata: { name: 'a' } }],
  ])('not %s', (_, seen) => {
    expect(looksLikeOwnWrite(seen, NOW)).toBe(false)
  })

  it('after its deletion, too', () => {
    expect(looksLikeOwnWrite(object({ 'pawl-widget': 10 }, 9), NOW)).toBe(true)
  })
})
