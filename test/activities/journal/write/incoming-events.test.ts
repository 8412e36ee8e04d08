import { describe, expect, it } from 'vitest'
import { reduceEvent } from '../../../../activities/journal/write/incoming-events.ts'
import { OPERATION, seen } from '../build-events.ts'

const kept = (value: string) => {
  const { projection } = reduceEvent(
    seen('ADDED', { version: 1, annotations: { [OPERATION]: value, other: 'x' } }),
    'watch',
    { contentKey: undefined, now: () => new Date(0) },
  )
  return (projection['metadata'] as { annotations: Record<string, string> }).annotations
}

describe('an annotation that the journal stores', () => {
  it('is stored unchanged up to 1024 characters', () => {
    for (const value of ['reconcile', 'x'.repeat(1024)]) expect(kept(value)).toEqual({ [OPERATION]: value })
  })

  it('is stored as its length and SHA-256 hash when it is longer', () => {
    const [long, other] = [kept('x'.repeat(200_000)), kept('y'.repeat(200_000))]
    expect(long[OPERATION]).toMatch(/^200000 characters, SHA-256 [\w-]{43}$/)
    expect(long).toEqual(kept('x'.repeat(200_000)))
    expect(long).not.toEqual(other)
  })
})
