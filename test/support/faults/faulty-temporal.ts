// A Temporal server whose store fails: writes time out, before or after their execution, and reads are refused. These are test settings of the server
// (config/development-cass-es-fi.yaml in its sources), which the development server lacks.
//
//   F1. Each method fails at its rate. The seed gives the order.
//   F2. The state is in memory and is lost at a restart.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '@temporalio/client'
import { msToTs } from '@temporalio/common/lib/time.js'
import { stringify } from 'yaml'
import { type Part, startPart } from '../../../worker/dev/part.ts'
import { choosePorts, type Ports } from '../../../worker/dev/ports.ts'
import { dynamicConfig } from '../../../worker/dev/temporal-config.ts'
import { addAttributes } from '../../../worker/migrate.ts'

/** Rates by method and fault, e.g. `{ UpdateWorkflowExecution: { Timeout: 0.05, ExecuteAndTimeout: 0.05 } }`. */
export type StoreFaults = Readonly<Record<string, Readonly<Record<string, number>>>>

const START_LIMIT_MS = 60_000

/** @param seed not 0, which the server takes for no seed. @returns the server; its namespace `default` is ready. */
export async function startFaultyTemporal(
  binary: string,
  dir: string,
  faults: StoreFaults,
  seed: number,
): Promise<Part> {
  const ports = await choosePorts(join(dir, 'ports.json'), {})
  const settingsPath = join(dir, 'settings.yaml')
  await writeFile(settingsPath, dynamicConfig())
  await writeFile(join(dir, 'server.yaml'), stringify(serverConfig(ports, settingsPath, faults, seed)))
  const address = `127.0.0.1:${ports.temporal}`
  const part = await startPart({
    name: 'temporal',
    command: binary,
    args: ['--root', dir, '--config', '.', '--env', 'server', '--allow-no-auth', 'start'],
    logFile: join(dir, 'temporal.log'),
    address,
    isReady: async () => {
      await (await Connection.connect({ address, connectTimeout: '1s' })).close()
      return true
    },
  })
  await provideNamespace(address)
  return part
}

function serverConfig(ports: Ports, settingsPath: string, faults: StoreFaults, seed: number): object {
  const methods = Object.fromEntries(Object.entries(faults).map(([name, errors]) => [name, { errors, seed }]))
  const store = {
    pluginName: 'sqlite',
    databaseName: 'default',
    connectAddr: 'localhost',
    connectProtocol: 'tcp',
    // F2
    connectAttributes: { mode: 'memory', cache: 'private' },
    maxConns: 1,
    maxIdleConns: 1,
    maxConnLifetime: '24h',
  }
  const service = (grpcPort: number, membershipPort: number) => ({
    rpc: { grpcPort, membershipPort, bindOnLocalHost: true },
  })
  const frontend = `127.0.0.1:${ports.temporal}`
  const cluster = { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: frontend }
  const off = { history: { state: 'disabled' }, visibility: { state: 'disabled' } }
  return {
    log: { stdout: true, format: 'json', level: 'warn' },
    persistence: {
      defaultStore: 'main',
      visibilityStore: 'visibility',
      numHistoryShards: 1,
      datastores: {
        main: { sql: store, faultInjection: { targets: { dataStores: { ExecutionStore: { methods } } } } },
        visibility: { sql: store },
      },
    },
    global: { membership: { broadcastAddress: '127.0.0.1', maxJoinDuration: '30s' } },
    services: {
      frontend: service(ports.temporal, ports.temporalFrontendRing),
      history: service(ports.temporalHistory, ports.temporalHistoryRing),
      matching: service(ports.temporalMatching, ports.temporalMatchingRing),
      worker: service(ports.temporalInternal, ports.temporalInternalRing),
    },
    publicClient: { hostPort: frontend },
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: { active: cluster },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    archival: off,
    dynamicConfigClient: { filepath: settingsPath, pollInterval: '10s' },
  }
}

/** The store refuses in between, and the services learn of the namespace with a delay: tried until all of it answers. */
async function provideNamespace(address: string): Promise<void> {
  const connection = await Connection.connect({ address })
  const wanted = { namespace: 'default', workflowExecutionRetentionPeriod: msToTs('1 day') }
  const { workflowService } = connection
  try {
    await until(async () => {
      const isThere = await workflowService.describeNamespace({ namespace: 'default' }).catch(() => undefined)
      if (isThere === undefined) await workflowService.registerNamespace(wanted)
      await addAttributes(connection, 'default')
      await workflowService.countWorkflowExecutions({ namespace: 'default', query: "PawlUid = 'none'" })
    })
  } finally {
    await connection.close()
  }
}

async function until(act: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + START_LIMIT_MS
  for (;;) {
    try {
      await act()
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await sleep(100)
    }
  }
}
