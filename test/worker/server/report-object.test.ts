import { describe, expect, it } from 'vitest'
import { reportTarget } from '../../../worker/server/report-object.ts'

describe('the report object of the engine', () => {
  it('has a namespace, a name, and the kind of an enabled wing', () => {
    expect(reportTarget('health-check', 'pawl/landscaper', ['landscaper'])).toMatchObject({
      at: { namespace: 'pawl', name: 'landscaper' },
      tells: { health: { kind: 'LsHealthCheck' } },
    })
    expect(reportTarget('health-check', undefined, [])).toBeUndefined()
  })

  it.each(['pawl', 'pawl/', '/x', 'pawl/a/b', 'Pawl/x', 'pawl/..', `pawl/${'x'.repeat(254)}`])(
    'is refused as %s',
    (text) => {
      expect(() => reportTarget('health-check', text, ['landscaper'])).toThrow(
        `--health-check: found "${text}"; expected namespace/name`,
      )
    },
  )

  it('is rejected if no enabled wing has a kind for it', () => {
    expect(() => reportTarget('critical-problems', 'pawl/x', [])).toThrow(
      '--critical-problems: no wing of --wings has a kind for it; add the wing, or remove the flag',
    )
  })
})
