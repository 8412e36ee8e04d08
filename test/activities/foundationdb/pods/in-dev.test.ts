import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { flagsInDev, prepareInDev } from '../../../../activities/foundationdb/pods/in-dev.ts'

const dir = mkdtempSync(join(tmpdir(), 'fdb-in-dev-'))
const installed = join(dir, 'installed')
beforeAll(() => {
  mkdirSync(installed)
  writeFileSync(join(installed, 'fdbserver'), '')
  chmodSync(join(installed, 'fdbserver'), 0o755)
})
afterAll(() => rmSync(dir, { recursive: true }))

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
    const prepared = prepareInDev({ flags, env, folder: dir })
    expect(prepared).toEqual({ flags: { 'fdb-bin': expected }, note })
    expect(flagsInDev({ flags: prepared.flags })).toEqual({ 'fdb-bin': expected })
  })

  it('are otherwise the tools of the simulator', () => {
    const prepared = prepareInDev({ flags: {}, env: { PATH: dir }, folder: dir })
    expect(prepared).toMatchObject({ flags: {}, env: { FDB_SIM_BLOBSTORE: join(dir, 'blob-store') } })
    expect(prepared.note).toContain('a simulator, because no FoundationDB is installed')
    expect(flagsInDev({ flags: prepared.flags })).toEqual({})
  })
})
