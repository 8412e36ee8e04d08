import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { flagsInDev, prepareInDev, simulatorFolder } from '../../../../activities/foundationdb/pods/in-dev.ts'

const dir = mkdtempSync(join(tmpdir(), 'fdb-in-dev-'))
const installed = join(dir, 'installed')
beforeAll(() => {
  mkdirSync(installed)
  writeFileSync(join(installed, 'fdbserver'), '')
  chmodSync(join(installed, 'fdbserver'), 0o755)
})
afterAll(() => rmSync(dir, { recursive: true }))

const folder = join(dir, 'agent')
const simulator = simulatorFolder({ folder })

describe("FoundationDB's tools in `pawl dev`", () => {
  it.each([
    ['the folder of the flag', { 'fdb-bin': '/given' }, { PAWL_FDB_BIN: '/variable' }, '/given', 'tools in "/given"'],
    [
      'the folder of the variable',
      {},
      { PAWL_FDB_BIN: '/variable', PATH: installed },
      '/variable',
      'tools in "/variable"',
    ],
    ['an installation in PATH', {}, { PATH: `bin:${installed}` }, installed, `FoundationDB in "${installed}"`],
  ])('are in %s', (...[, flags, env, ...results]) => {
    const [expected, note] = results
    const prepared = prepareInDev({ folder, flags, env })
    expect(prepared).toEqual({ flags: { 'fdb-bin': expected }, note })
    expect(flagsInDev({ folder, flags: prepared.flags })).toEqual({ 'fdb-bin': expected })
    expect(existsSync(simulator)).toBe(false)
  })

  it('are otherwise those of the simulator, which the node agent writes for each version', () => {
    const prepared = prepareInDev({ folder, flags: {}, env: { PATH: dir } })
    expect(prepared.flags).toEqual({ 'fdb-bin': simulator })
    expect(prepared.note).toContain('a simulator, because no FoundationDB is installed')
    expect(existsSync(join(simulator, 'fdbcli'))).toBe(true)
    expect(flagsInDev({ folder, flags: prepared.flags })).toEqual({})
  })
})
