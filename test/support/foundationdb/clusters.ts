// Provides a Kubernetes cluster with the wing `foundationdb` for one test file, and a node agent that runs the pods of FoundationDB clusters as processes.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest'

import type { KubeObject, ObjectList } from '../../../activities/kube/client.ts'
import { isNotFound } from '../../../activities/kube/errors.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import type { FoundationDBCluster } from '../../../workflows/foundationdb/cluster/kind.ts'
import { CLUSTER_LABEL, GROUP, VERSION } from '../../../workflows/foundationdb/contract.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { type Tenants, useTenants } from '../tenants/tenants.ts'
import { BACKEND, PATIENCE } from './backend.ts'

const PROGRAM = new URL('../../../worker/program.ts', import.meta.url).pathname

export interface Databases<Name extends string> {
  readonly tenants: Tenants<Name>
  /** The state folder of the node agent. */
  readonly state: string
  /** The folder with the backups of the simulator. */
  readonly blobStore: string
  of(name: Name): DatabaseNamespace
}

/**
 * Sets up the Kubernetes cluster before the tests of the file, and removes it afterwards.
 *
 * @param tools the folder with the tools of the worker and the node agent. Default: those of the backend.
 */
export function useDatabases<const Name extends string>(
  name: string,
  names: readonly Name[],
  tools?: string,
): Databases<Name> {
  const folder = mkdtempSync(join(tmpdir(), `pawl-${name}-`))
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  })
  const state = join(folder, 'agent')
  const blobStore = join(folder, 'blob-store')
  const environment = { ...BACKEND.environment, FDB_SIM_BLOBSTORE: blobStore }
  const used = tools ?? BACKEND.folder
  process.stderr.write(`${name}: ${BACKEND.note}\n`)
  const toolFlags = used === undefined ? [] : ['--fdb-bin', used]
  const ofBoth = ['--wings', 'foundationdb', '--content-key', join(folder, 'content.key')]
  const tenants = useTenants(name, names, undefined, {
    wings: ['foundationdb'],
    bridgeFlags: ofBoth,
    workerFlags: [...ofBoth, ...toolFlags, ...BACKEND.workerFlags, '--fdb-recovery-wait', '2s'],
    environments: { worker: environment },
  })
  useNodeAgent(tenants, { state, tools: toolFlags, environment })
  return { tenants, state, blobStore, of: (tenant) => new DatabaseNamespace(tenants.of(tenant)) }
}

interface AgentSettings {
  readonly state: string
  readonly tools: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

function useNodeAgent(tenants: Tenants<string>, { state, tools, environment }: AgentSettings): void {
  let agent: ChildProcess | undefined
  const log = `${state}.log`
  beforeAll(() => {
    const flags = ['--nodes', 'all', '--kubeconfig', tenants.kubeconfigPath, '--state', state, '--at-end', 'stop']
    const pods = ['--wings', 'foundationdb', '--provide-volumes', 'yes', '--restart-delay', '1s', ...tools]
    const out = openSync(log, 'w')
    agent = spawn(process.execPath, [PROGRAM, 'node-agent', ...flags, ...pods], {
      stdio: ['ignore', out, out],
      env: { ...process.env, ...environment },
    })
    closeSync(out)
  })
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') process.stderr.write(readFileSync(log, 'utf8').slice(-5000))
  })
  afterAll(async () => {
    if (agent === undefined || agent.exitCode !== null || agent.signalCode !== null) return
    const ended = once(agent, 'exit')
    agent.kill('SIGTERM')
    await ended
  })
}

/** The FoundationDB clusters of a namespace. */
export class DatabaseNamespace {
  readonly cluster: Cluster

  constructor(cluster: Cluster) {
    this.cluster = cluster
  }

  path(plural: string, name?: string, apiVersion = 'v1'): string {
    return resourcePath({ apiVersion, plural }, this.cluster.namespace, name)
  }

  /** Creates an object of one of the kinds of FoundationDB. */
  async create(manifest: object): Promise<void> {
    const { kind = 'FoundationDBCluster' } = manifest as { readonly kind?: string }
    const path = this.path(`${kind.toLowerCase()}s`, undefined, `${GROUP}/${VERSION}`)
    await this.cluster.kube.request('POST', path, { body: manifest })
  }

  /** Merges the fields into the spec of the object. */
  async patch(name: string, spec: object, plural = 'foundationdbclusters'): Promise<void> {
    await this.cluster.kube.request('PATCH', this.path(plural, name, `${GROUP}/${VERSION}`), {
      body: { spec },
      contentType: 'application/merge-patch+json',
    })
  }

  async get(name: string): Promise<FoundationDBCluster> {
    return await this.read<FoundationDBCluster>('foundationdbclusters', name)
  }

  /** An object of one of the kinds of FoundationDB. */
  async read<Kind>(plural: string, name: string): Promise<Kind> {
    return await this.cluster.kube.request<Kind>('GET', this.path(plural, name, `${GROUP}/${VERSION}`))
  }

  /** Waits until the cluster is reconciled and available. It becomes healthy when the first data movement ends. */
  async untilReconciled(name: string): Promise<FoundationDBCluster> {
    let last: FoundationDBCluster | undefined
    try {
      return await vi.waitFor(async () => {
        last = undefined
        const found = (last = await this.get(name))
        expect(found.status).toMatchObject({
          generations: { reconciled: found.metadata['generation'] },
          health: { available: true, fullReplication: true },
        })
        return found
      }, PATIENCE)
    } catch (error) {
      process.stderr.write(`FoundationDBCluster ${name}: ${JSON.stringify(last)}\n`)
      throw error
    }
  }

  /** The objects of a kind that belong to the cluster. */
  async objects(plural: string, name: string): Promise<readonly KubeObject[]> {
    const query = { labelSelector: `${CLUSTER_LABEL}=${name}` }
    return (await this.cluster.kube.request<ObjectList>('GET', this.path(plural), { query })).items
  }

  async untilDeleted(): Promise<void> {
    const path = `/api/v1/namespaces/${this.cluster.namespace}`
    await this.cluster.kube.request('DELETE', path)
    await vi.waitFor(async () => {
      await expect(this.cluster.kube.request('GET', path)).rejects.toSatisfy(isNotFound)
    }, PATIENCE)
  }
}
