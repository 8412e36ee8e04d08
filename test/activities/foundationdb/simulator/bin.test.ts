import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, describe, expect, it } from 'vitest'

import { writeExecutables } from '../../../../activities/foundationdb/simulator/bin.ts'

describe('the executables of the simulator', () => {
  it('stay the same files when they are written again, because processes may be starting them', () => {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-fdb-bin-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const files = () =>
      readdirSync(folder, { recursive: true }).map((name) => [name, statSync(join(folder, String(name))).ino])
    const write = (version: string) => writeExecutables(folder, process.execPath, version)
    write('7.1.67')
    const before = files()
    expect(before.length).toBeGreaterThan(6)
    write('7.1.67')
    expect(files()).toEqual(before)
    write('7.3.63')
    expect(files()).not.toEqual(before)
  })
})
