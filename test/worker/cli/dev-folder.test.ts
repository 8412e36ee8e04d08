import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, expect, it } from 'vitest'

import { journalURL } from '../../../worker/cli/query/open-journal.ts'
import { devFolder, findDev } from '../../../worker/cli/dev-folder.ts'
import { userKubeconfig } from '../../../worker/cli/user.ts'
import { readTarget } from '../../../worker/cli/migrate.ts'
import { devAddress } from '../../../worker/cli/temporal-address.ts'
import { identify } from '../../../worker/server/process-identity.ts'
import { removeState, writeState } from '../../../worker/dev/state.ts'
import { readConfig } from '../../../worker/server/config.ts'
import { scratchFolder } from '../dev/scratch.ts'

const self = identify(process.pid)!

/** The folder of a running `pawl dev`, with a kubeconfig whose only context has this name. */
async function runningDev(context: string): Promise<string> {
  const dataDir = await scratchFolder()
  for (const folder of ['postgresql', 'bin']) await mkdir(join(dataDir, folder))
  await writeFile(join(dataDir, 'postgresql', 'password'), 'secret\n')
  await writeFile(join(dataDir, 'bin', 'kubectl-pawl'), '')
  const kubeconfig = join(dataDir, 'kubeconfig')
  await writeFile(
    kubeconfig,
    JSON.stringify({ 'current-context': context, contexts: [{ name: context, context: {} }] }),
  )
  const part = (name: string, address: string) => ({ name, process: self, address, logFile: null })
  await writeState({
    dataDir,
    supervisor: self,
    startedAt: '2026-01-01T00:00:00.000Z',
    ephemeral: false,
    kubeconfig,
    kubectl: 'k',
    temporalUi: null,
    parts: [part('postgresql', `postgresql://127.0.0.1:5433/${context}`), part('temporal', '127.0.0.1:7233')],
  })
  return dataDir
}

async function scene() {
  const [usual, other] = [await runningDev('usual'), await runningDev('other')]
  const none = { ...readConfig(), dataDir: await scratchFolder(), databaseUrl: undefined, kubeconfig: '/nonexistent' }
  return { usual, other, none, ofUsual: join(usual, 'kubeconfig'), ofOther: join(other, 'kubeconfig') }
}

describe('pawl migrate', () => {
  it('uses the journal and Temporal of a running pawl dev, unless a flag or a variable names a database', async () => {
    const { usual, other, none, ofUsual } = await scene()
    const plain = { ...none, temporalAddress: undefined }
    const ofDev = {
      databaseUrl: 'postgresql://pawl:secret@127.0.0.1:5433/usual',
      temporal: { address: '127.0.0.1:7233' },
    }
    expect(await readTarget({}, { ...plain, kubeconfig: ofUsual })).toMatchObject(ofDev)
    expect(await readTarget({ 'data-dir': usual }, { ...plain, databaseUrl: 'postgresql://x/y' })).toMatchObject(ofDev)
    const own = { databaseUrl: 'postgresql://x/y', temporal: undefined }
    expect(await readTarget({ 'database-url': own.databaseUrl }, { ...plain, dataDir: other })).toEqual(own)
    expect(await readTarget({}, { ...plain, databaseUrl: own.databaseUrl, dataDir: other })).toEqual(own)
    await expect(readTarget({}, plain)).rejects.toThrow(
      /^no journal: no pawl dev runs for .*; run the export lines that pawl dev printed, or pass --data-dir or --database-url$/,
    )
  })
})

describe('the data folder of a command', () => {
  it('is the folder of --data-dir, else of the pawl dev that wrote the kubeconfig, else the default folder', async () => {
    const { usual, other, none, ofOther } = await scene()
    const config = { ...none, dataDir: usual }
    expect(await devFolder({ dataDir: usual, kubeconfig: ofOther }, none)).toBe(usual)
    expect(await devFolder({ kubeconfig: ofOther }, config)).toBe(other)
    expect(await devFolder({}, { ...config, kubeconfig: ofOther })).toBe(other)
    expect(await devFolder({}, config)).toBe(usual)
  })

  it('is the folder of the file with the current context, when $KUBECONFIG names several files', async () => {
    const { usual, other, none, ofUsual, ofOther } = await scene()
    const config = { ...none, kubeconfig: [ofUsual, ofOther].join(delimiter) }
    expect(await devFolder({ context: 'other' }, config)).toBe(other)
    expect(await devFolder({}, config)).toBe(usual)
  })

  it('is found through a link to its kubeconfig, and not by a copy', async () => {
    const { other, none, ofOther } = await scene()
    const elsewhere = await scratchFolder()
    await symlink(ofOther, join(elsewhere, 'link'))
    expect(await devFolder({ kubeconfig: join(elsewhere, 'link') }, none)).toBe(other)
    await copyFile(ofOther, join(elsewhere, 'copy'))
    expect(await devFolder({ kubeconfig: join(elsewhere, 'copy') }, none)).toBe(none.dataDir)
  })

  it('gives the command its journal and its Temporal', async () => {
    const { none, ofOther } = await scene()
    const config = { ...none, kubeconfig: ofOther }
    expect(await journalURL({ cluster: 'local' }, config)).toBe('postgresql://pawl:secret@127.0.0.1:5433/other')
    expect(await devAddress({}, config)).toBe('127.0.0.1:7233')
  })

  it('is not replaced by another one when it has stopped, and the message names its folder', async () => {
    const { usual, none } = await scene()
    const stopped = await runningDev('stopped')
    await removeState(stopped)
    const config = { ...none, dataDir: usual, kubeconfig: join(stopped, 'kubeconfig') }
    expect(await findDev({}, config)).toBeUndefined()
    await expect(journalURL({ cluster: 'local' }, config)).rejects.toThrow(`no pawl dev runs for ${stopped}`)
    // An ephemeral pawl dev removes its folder.
    const removed = join(stopped, 'removed')
    const ofRemoved = { ...config, kubeconfig: join(removed, 'kubeconfig') }
    await expect(journalURL({ cluster: 'local' }, ofRemoved)).rejects.toThrow(`no pawl dev runs for ${removed}`)
    await expect(userKubeconfig({}, ofRemoved)).rejects.toThrow('no kubeconfig was found')
  })
})
