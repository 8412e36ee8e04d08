// Several tenants of one Pawl: a cluster for one test file, with a namespace for each tenant and a Pawl that watches all of them. Each tenant has a client for its
// namespace.

import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, inject } from 'vitest'
import { installCrds, setUpWings } from '../../../worker/dev/pawl-parts.ts'
import { type Servers, startServers } from '../../../worker/dev/servers.ts'
import { readConfig } from '../../../worker/server/config.ts'
import { HttpProxy } from '../faults/http-proxy.ts'
import { Cluster } from '../cluster/cluster.ts'
import { Pawl, type PawlOptions } from '../pawl/pawl.ts'
import { type Accounts, shippedAccounts } from '../rights/accounts.ts'
import { PRODUCTION_TIMEOUTS } from '../pawl/stage.ts'
import { keepAuditLog } from '../rights/rights-audit.ts'
import type { TestServers } from '../servers/servers.ts'

const SET_UP_MS = 240_000

export class Tenants<Name extends string> {
  readonly #names: readonly Name[]
  readonly #clusters = new Map<Name, Cluster>()
  #servers: Servers | undefined
  #keep: (() => Promise<void>) | undefined
  #pawl: Pawl | undefined
  #proxies: { readonly worker: HttpProxy; readonly bridge: HttpProxy } | undefined

  constructor(names: readonly Name[]) {
    this.#names = names
  }

  /** The client of a tenant. */
  of(name: Name): Cluster {
    const cluster = this.#clusters.get(name)
    if (cluster === undefined) throw new Error('the tenants are set up by beforeAll')
    return cluster
  }

  get pawl(): Pawl {
    if (this.#pawl === undefined) throw new Error('the tenants are set up by beforeAll')
    return this.#pawl
  }

  /** The proxies before the API server (`proxied`). */
  get proxies(): { readonly worker: HttpProxy; readonly bridge: HttpProxy } {
    if (this.#proxies === undefined) throw new Error('expected the tenants to be set up with `proxied`')
    return this.#proxies
  }

  /** The administrator's kubeconfig. */
  get kubeconfigPath(): string {
    if (this.#servers === undefined) throw new Error('the tenants are set up by beforeAll')
    return this.#servers.kubeconfigPath
  }

  /** The audit log of the cluster. */
  get auditLogPath(): string {
    const path = this.#servers?.auditLogPath
    if (path === undefined) throw new Error('the tenants are set up by beforeAll')
    return path
  }

  async setUp(
    name: string,
    shared: TestServers,
    prepare: Preparation,
    { wings, proxied = false, ...options }: TenantsOptions,
  ): Promise<void> {
    const { databaseUrl, temporalAddress } = shared
    const dataDir = await mkdtemp(join(tmpdir(), 'pawl-tenants-'))
    const own = { databaseUrl, temporalAddress }
    const progress = (line: string) => process.stderr.write(`${name}: ${line}\n`)
    this.#servers = await startServers({ config: readConfig(), dataDir, ephemeral: true, audit: true, own, progress })
    const { kubeconfigPath, auditLogPath } = this.#servers
    this.#keep = async () => await keepAuditLog(shared.auditLogPath, name, auditLogPath ?? '')
    await installCrds(this.#servers, wings)
    await setUpWings(this.#servers, wings, { 'chaos-config': valueAfter('--chaos-config', options.workerFlags) })
    for (const one of this.#names) {
      const cluster = new Cluster(kubeconfigPath, one)
      this.#clusters.set(one, cluster)
      await cluster.createNamespace()
    }
    await prepare(this.#clusters.get(this.#names[0]!)!)
    const servers = { ...shared, kubeconfigPath, accounts: await shippedAccounts(this.#servers, wings) }
    const workerFlags = [...PRODUCTION_TIMEOUTS, ...(options.workerFlags ?? [])]
    if (proxied) await this.#openProxies(servers.accounts)
    const kubeconfigs = this.#proxies && {
      workerKubeconfig: this.#proxies.worker.kubeconfigPath,
      bridgeKubeconfig: this.#proxies.bridge.kubeconfigPath,
    }
    this.#pawl = await Pawl.start({ name, servers, namespace: undefined, ...kubeconfigs, ...options, workerFlags })
  }

  async #openProxies(accounts: Accounts): Promise<void> {
    const [worker, bridge] = await Promise.all([HttpProxy.start(accounts.worker), HttpProxy.start(accounts.bridge)])
    this.#proxies = { worker, bridge }
  }

  async tearDown(): Promise<void> {
    await this.#pawl?.stop()
    await Promise.all([this.#proxies?.worker.stop(), this.#proxies?.bridge.stop()])
    await Promise.all([...this.#clusters.values()].map(async ({ kube }) => await kube.close()))
    await this.#keep?.()
    await this.#servers?.stop()
  }
}

/** Options of Pawl, and the wings whose CRDs the cluster has. */
export type TenantsOptions = Partial<PawlOptions> & {
  readonly wings?: readonly string[]
  /** Worker and bridge reach the API server through proxies. Default: false. */
  readonly proxied?: boolean
}

/** Prepares the cluster before Pawl starts. */
type Preparation = (cluster: Cluster) => Promise<void>

/** Sets up the tenants before the tests of the file, and removes them afterwards. @param names of the namespaces. */
export function useTenants<const Name extends string>(
  name: string,
  names: readonly Name[],
  prepare: Preparation = () => Promise.resolve(),
  options: TenantsOptions = {},
): Tenants<Name> {
  const tenants = new Tenants(names)
  beforeAll(() => tenants.setUp(name, inject('servers'), prepare, options), SET_UP_MS)
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail')
      process.stderr.write(`${name}: open after "${task.name}": ${await tenants.pawl.openState()}\n`)
  })
  afterAll(() => tenants.tearDown(), SET_UP_MS)
  return tenants
}

function valueAfter(flag: string, args: readonly string[] = []): string | undefined {
  const at = args.indexOf(flag)
  return at === -1 ? undefined : args[at + 1]
}
