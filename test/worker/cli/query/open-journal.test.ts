import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

import { journalURL } from '../../../../worker/cli/query/open-journal.ts'
import { identify } from '../../../../worker/server/process-identity.ts'
import { type PartState, writeState } from '../../../../worker/dev/state.ts'
import { readConfig } from '../../../../worker/server/config.ts'
import { scratchFolder } from '../../dev/scratch.ts'

const self = identify(process.pid)!
const config = { ...readConfig(), databaseUrl: 'postgresql://from.example/variable' }
const given = { cluster: 'local', databaseUrl: 'postgresql://from.example/flag' }

async function devFolder(part: Partial<PartState>): Promise<string> {
  const dataDir = await scratchFolder()
  await mkdir(join(dataDir, 'postgresql'))
  await writeFile(join(dataDir, 'postgresql', 'password'), 'secret\n')
  const address = 'postgresql://127.0.0.1:5433/pawl'
  await writeState({
    dataDir,
    supervisor: self,
    startedAt: '2026-01-01T00:00:00.000Z',
    ephemeral: false,
    kubeconfig: 'k',
    kubectl: 'k',
    temporalUi: null,
    parts: [{ name: 'postgresql', process: self, address, logFile: null, ...part }],
  })
  return dataDir
}

describe('the journal of a command', () => {
  it('is the one of the flag, else of --data-dir, else of the variable, else of pawl dev', async () => {
    const dataDir = await devFolder({})
    const ofDev = 'postgresql://pawl:secret@127.0.0.1:5433/pawl'
    expect(await journalURL({ ...given, dataDir }, config)).toBe(given.databaseUrl)
    expect(await journalURL({ cluster: 'local', dataDir }, config)).toBe(ofDev)
    expect(await journalURL({ cluster: 'local' }, { ...config, dataDir })).toBe(config.databaseUrl)
    expect(await journalURL({ cluster: 'local' }, { ...config, dataDir, databaseUrl: undefined })).toBe(ofDev)
  })

  it('is missing with an error that lists the searched places', async () => {
    const nothing = await scratchFolder()
    await expect(journalURL({ cluster: 'local', dataDir: nothing }, config)).rejects.toThrow(
      `no journal: no pawl dev runs for ${nothing}; run the export lines that pawl dev printed, or pass --data-dir, `,
    )
    const ofOthers = await devFolder({ process: null })
    await expect(journalURL({ cluster: 'local', dataDir: ofOthers }, config)).rejects.toThrow(
      'uses your own PostgreSQL; pass --database-url',
    )
  })
})
