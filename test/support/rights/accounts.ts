// Creates the ServiceAccounts of bridge and worker for a test run, with only the roles that Pawl ships or generates.
// The run fails if the API server denies a request of these accounts, or if a full run does not use all shipped rights
// (rights-audit.ts).

import { execFile } from 'node:child_process'
import { access, readdir, readFile, mkdtemp, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import type { KubeClient, KubeObject } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { Cluster } from '../cluster/cluster.ts'
import type { TestServers } from '../servers/servers.ts'

const run = promisify(execFile)
const ROOT = new URL('../../../', import.meta.url).pathname
const RBAC = 'rbac.authorization.k8s.io/v1'

/** Prefix of the accounts' namespaces. */
export const RIGHTS = 'pawl-rights'
export const PROCESSES = ['bridge', 'worker'] as const
export type ProcessName = (typeof PROCESSES)[number]

/** Paths of kubeconfigs. */
export type Accounts = Readonly<Record<ProcessName, string>>

type OfServers = Pick<TestServers, 'kubeconfigPath'>

/** Installs the roles of `deploy/rbac`. @returns accounts with the roles of these wings. */
export async function shippedAccounts(
  servers: OfServers,
  wings: readonly string[] = ['landscaper'],
): Promise<Accounts> {
  return await inNamespace(servers, RIGHTS, async (kube) => {
    for (const path of await roleFiles(join(ROOT, 'deploy/rbac'))) await createAll(kube, await readFile(path, 'utf8'))
    await bindShipped(kube, RIGHTS, wings)
  })
}

/** Administrator accounts, for controllers that do not declare their writes: Pawl cannot generate roles for them. */
export function administrators({ kubeconfigPath }: OfServers): Accounts {
  return { bridge: kubeconfigPath, worker: kubeconfigPath }
}

export interface WhoseRights {
  readonly name: string
  /** This field and the next ones are fields of `PawlOptions`. */
  readonly controllers?: string | undefined
  readonly installed?: string | undefined
  readonly checkout?: string | undefined
  readonly workerFlags?: readonly string[] | undefined
}

let count = 0

/** Creates the accounts of a Pawl, with the roles for its controllers, checkout and wings. */
export async function accountsOf(
  servers: OfServers & { readonly accounts: Accounts },
  whose: WhoseRights,
): Promise<Accounts> {
  const { name, controllers, checkout, workerFlags = [] } = whose
  if (controllers === undefined && checkout === undefined) return servers.accounts
  const unique = `${RIGHTS}-${name}-${process.pid}-${++count}`
  return await inNamespace(servers, unique, async (kube) => {
    if (controllers !== undefined) await createAll(kube, await generated(whose, controllers, unique))
    if (checkout !== undefined) await bindWings(kube, unique, checkout)
    const wings = wingsOf(workerFlags)
    if (wings.length > 0) await bindShipped(kube, unique, wings)
    else await bind(kube, unique, 'worker', 'pawl-worker')
  })
}

/** The wings in the flag `--wings`, or the worker's default wings. */
function wingsOf(flags: readonly string[]): readonly string[] {
  const at = flags.indexOf('--wings')
  const given = at === -1 ? 'landscaper' : (flags[at + 1] ?? '')
  return given === 'none' ? [] : given.split(',')
}

async function inNamespace(
  servers: OfServers,
  namespace: string,
  grant: (kube: KubeClient) => Promise<void>,
): Promise<Accounts> {
  const cluster = new Cluster(servers.kubeconfigPath, namespace)
  try {
    await cluster.createNamespace()
    const [bridge, worker] = await Promise.all([
      makeAccount(servers, cluster, 'pawl-bridge'),
      makeAccount(servers, cluster, 'pawl-worker'),
      grant(cluster.kube),
    ])
    return { bridge, worker }
  } finally {
    await cluster.kube.close()
  }
}

/** Roles and bindings for users' controllers, from `pawl gen rbac`. */
async function generated({ installed = ROOT }: WhoseRights, controllers: string, name: string): Promise<string> {
  const source = join(installed, 'worker/pawl.js')
  const args = ['gen', 'rbac', ...controllers.split(','), '--name', name, '--accounts', name]
  return (await run(process.execPath, [source, ...args])).stdout
}

async function bindShipped(
  kube: KubeClient,
  namespace: string,
  wings: readonly string[] = ['landscaper'],
): Promise<void> {
  await bind(kube, namespace, 'worker', 'pawl-worker')
  for (const wing of wings) for (const name of PROCESSES) await bind(kube, namespace, name, `pawl-${name}-${wing}`)
}

/** Creates and binds the roles of the checkout's wings that Pawl does not ship. */
async function bindWings(kube: KubeClient, namespace: string, checkout: string): Promise<void> {
  const folder = join(checkout, 'deploy/rbac')
  const entries = await readdir(folder, { withFileTypes: true })
  for (const wing of entries.filter((one) => one.isDirectory()).map((one) => one.name)) {
    if (await isShipped(wing)) continue
    for (const path of await roleFiles(join(folder, wing))) await createAll(kube, await readFile(path, 'utf8'))
    for (const name of PROCESSES) await bind(kube, namespace, name, `pawl-${name}-${wing}`)
  }
}

async function isShipped(wing: string): Promise<boolean> {
  return await access(join(ROOT, 'deploy/rbac', wing)).then(
    () => true,
    () => false,
  )
}

async function bind(kube: KubeClient, namespace: string, name: ProcessName, role: string): Promise<void> {
  await create(kube, {
    apiVersion: RBAC,
    kind: 'ClusterRoleBinding',
    metadata: { name: `${namespace}-${role}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', namespace, name: `pawl-${name}` }],
  })
}

async function createAll(kube: KubeClient, documents: string): Promise<void> {
  for (const document of parseAllDocuments(documents)) await create(kube, document.toJS() as Created)
}

type Created = KubeObject & { readonly apiVersion: string; readonly kind: string } & Readonly<Record<string, unknown>>

async function create(kube: KubeClient, body: Created): Promise<void> {
  const { apiVersion, kind } = body
  await kube.request('POST', resourcePath({ apiVersion, plural: `${kind.toLowerCase()}s` }, undefined), { body })
}

async function roleFiles(folder: string): Promise<readonly string[]> {
  const found = await readdir(folder, { recursive: true })
  return found.filter((path) => path.endsWith('.yaml')).map((path) => join(folder, path))
}

// Longer than any test or benchmark runs.
const TOKEN_SECONDS = 86_400

/** Creates a ServiceAccount without rights. @returns the path of a kubeconfig with its token. */
export async function makeAccount(
  { kubeconfigPath }: Pick<TestServers, 'kubeconfigPath'>,
  { kube, namespace }: Pick<Cluster, 'kube' | 'namespace'>,
  name: string,
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts`
  await kube.request('POST', path, { body: { metadata: { name } } })
  const { status } = await kube.request<{ status: { token: string } }>('POST', `${path}/${name}/token`, {
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: TOKEN_SECONDS } },
  })
  const admin = JSON.parse(await readFile(kubeconfigPath, 'utf8')) as { users: { user: object }[] }
  const users = admin.users.map((one) => ({ ...one, user: { token: status.token } }))
  // The servers delete the folder of the kubeconfig when they end.
  const file = join(await mkdtemp(join(dirname(kubeconfigPath), 'account-')), name)
  await writeFile(file, JSON.stringify({ ...admin, users }), { mode: 0o600 })
  return file
}
