// Tests random faults of Pawl's dependencies and of its own processes at the same time.

import { describe, expect, inject, it } from 'vitest'
import { byForm, SEED } from '../support/matrix/form.ts'
import { storm } from '../support/storm/storm.ts'

const FAULTS = byForm(150, 2_000)
const LIMIT_MS = byForm(400_000, 3_600_000)
// More lanes and shorter pauses keep two cores busy.
const HARNESS = byForm(
  { seed: 17, lanes: 1, abreast: 4, everyMs: 80, limitMs: 150_000 },
  { seed: SEED, lanes: 2, abreast: 6, everyMs: 40, limitMs: 900_000 },
)

describe('a storm of faults', () => {
  it(
    'T2, T4: loses nothing, doubles nothing, and leaves quiet behind',
    async () => {
      const log = (line: string) => void process.stderr.write(`${line}\n`)
      const result = await storm(inject('servers'), { name: 'storm', faults: FAULTS, ...HARNESS, log })
      const { counts, lives, lost, doubled, unrest } = result
      log(`storm: ${JSON.stringify({ lives, faults: Object.fromEntries(counts) })}`)
      expect({ lost, doubled, unrest }).toEqual({ lost: [], doubled: [], unrest: [] })
      expect([...counts.values()].reduce((total, count) => total + count, 0)).toBeGreaterThanOrEqual(FAULTS)
      for (const kind of ['manifests', 'subInstallations']) expect(lives[kind], kind).toBeGreaterThan(0)
    },
    LIMIT_MS,
  )
})
