// The program `fdb-sidecar`: it replaces the containers foundationdb-kubernetes-sidecar and foundationdb-kubernetes-init
// on machines without a kubelet.
//
// S1. All files are copied before the server listens, so a sidecar that answers has written the files of its start.

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { ProgramStart } from '../../program.ts'
import { copyBinaries, copyFiles, copyLibraries, copyMonitorConf } from './output-files.ts'
import { createSidecarServer } from './server.ts'
import { readSettings } from './settings.ts'
import { USAGE } from './usage.ts'

/** Exit codes: 0 after a signal or with --init-mode, 1 after `POST /restart` or a problem. */
export async function run({ args, env, end, print, complain }: ProgramStart): Promise<number> {
  if (args.includes('--help')) {
    print(USAGE)
    return 0
  }
  try {
    const settings = readSettings(args, env)
    for (const copy of [copyFiles, copyBinaries, copyLibraries, copyMonitorConf]) await copy(settings)
    if (settings.isInit) return 0
    const restart = new AbortController()
    const server = createSidecarServer(settings, {
      restart: () => restart.abort(),
      log: (text) => complain(`${text}\n`),
    })
    const { host, port } = settings
    server.listen(port, host)
    await once(server, 'listening')
    const address = server.address() as AddressInfo
    print(`Listening on ${host}:${String(address.port)}\n`)
    const ended = AbortSignal.any([end, restart.signal])
    if (!ended.aborted) await once(ended, 'abort')
    server.close()
    server.closeAllConnections()
    return restart.signal.aborted ? 1 : 0
  } catch (error) {
    complain(`${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  }
}
