// Tests random faults of Pawl's dependencies and of its own processes at the same time: the short form of
// `npm run bench -- faults`.

import { describe, expect, inject, it } from 'vitest'
import { storm } from '../support/storm/storm.ts'

const LIMIT_MS = 400_000
const SEED = 17

describe('a storm of faults', () => {
  it(
    'T2, T4: loses nothing, doubles nothing, and leaves quiet behind',
    async () => {
      const log = (line: string) => void process.stderr.write(`${line}\n`)
      const options = { name: 'storm', faults: 150, seed: SEED, lanes: 1, abreast: 4, everyMs: 80, log }
      const { counts, lives, lost, doubled, unrest } = await storm(inject('servers'), options)
      expect({ lost, doubled, unrest }).toEqual({ lost: [], doubled: [], unrest: [] })
      expect([...counts.values()].reduce((total, count) => total + count, 0)).toBeGreaterThanOrEqual(150)
      for (const kind of ['manifests', 'subInstallations']) expect(lives[kind], kind).toBeGreaterThan(0)
    },
    LIMIT_MS,
  )
})
