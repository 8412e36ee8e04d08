// Starts a Kubernetes control plane on the loopback address, with simulated nodes.
//
// envtest-js is not used: its certificates last a week, its etcd never syncs, and its processes die with the parent's
// terminal. That suits test runs, but not data that is kept. Here the API server creates its own certificate, and
// clients use tokens.
//
//   N1. Tokens and keys are created once per data folder and are readable by the owner only. Ports may change;
//       credentials do not.
//   N2. Each component has its own identity, so RBAC and the audit log distinguish them.

import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { request } from 'node:https'

import { PODS } from '../../activities/pods.gen.ts'
import type { Binaries } from './obtain.ts'
import { startPart, type Part } from './part.ts'
import { BINARIES_DIR } from './pins.ts'
import type { Ports } from './ports.ts'

/** Certificates that the API server signs for itself last a year. */
const CERTIFICATE_DAYS = 300
const NODES = ['node-1', 'node-2', 'node-3']

const IDENTITIES = {
  admin: { user: 'admin', groups: 'system:masters' },
  controllers: { user: 'system:kube-controller-manager', groups: '' },
  scheduler: { user: 'system:kube-scheduler', groups: '' },
  kwok: { user: 'kwok', groups: 'system:masters' },
} as const
type Identity = keyof typeof IDENTITIES
/** The label of pods that a test runs by a node agent (`pawl node-agent --pods`). */
const NODE_AGENT_LABEL = 'pawl.dev/node-agent'

export interface ClusterOptions {
  /** Folder of the data, the credentials and the component kubeconfigs. */
  readonly dir: string
  readonly logDir: string
  readonly binaries: Binaries
  readonly ports: Ports
  /** True when the data may be lost in a crash. */
  readonly ephemeral: boolean
  /** Where the administrator's kubeconfig is written. */
  readonly kubeconfigPath: string
  /** Where requests are logged, one JSON line each; undefined writes no audit log. */
  readonly auditLogPath: string | undefined
  /**
   * Unix socket of an HTTP proxy (CONNECT) through which the API server connects to pods and Services; undefined: it
   * connects directly.
   */
  readonly clusterProxy: string | undefined
  /** Called with each server as soon as its process exists, so that it can be stopped if a later step fails. */
  readonly onPart: (part: Part) => void
}

/** Starts etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok; resolves when the nodes are ready. */
export async function startCluster(options: ClusterOptions): Promise<KubeAccess> {
  const { dir } = options
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const tokens = await makeCredentials(dir)

  await startEtcd(options)
  const access = await startApiServer(options, tokens.admin)
  await writeFile(options.kubeconfigPath, kubeconfig(access, 'pawl-dev'), { mode: 0o600 })
  for (const name of ['controllers', 'scheduler', 'kwok'] as const) {
    await writeFile(join(dir, `${name}.kubeconfig`), kubeconfig({ ...access, token: tokens[name] }, name), {
      mode: 0o600,
    })
  }

  await freeNodes(access)
  await Promise.all([startControllers(options), startScheduler(options), startKwok(options)])
  return access
}

/**
 * Deletes the leases of the previous kwok. Otherwise the new kwok would simulate no pods of these nodes until the
 * leases expire after 40 s.
 */
async function freeNodes(access: KubeAccess): Promise<void> {
  const path = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
  const { status, body } = await kubeRequest(access, path, 'DELETE')
  if (status !== 200)
    throw new Error(`leases of nodes were not deleted: ${status}; expected 200: ${body.slice(0, 200)}`)
}

/** The manifests of the simulated nodes; kwok simulates their kubelets. */
export function nodeManifests(): string {
  return NODES.map((name, index) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name,
        annotations: { 'kwok.x-k8s.io/node': 'fake', 'node.alpha.kubernetes.io/ttl': '0' },
        labels: {
          'kubernetes.io/arch': 'amd64',
          'kubernetes.io/os': 'linux',
          'kubernetes.io/hostname': name,
          'topology.kubernetes.io/zone': `zone-${index + 1}`,
          type: 'kwok',
        },
      },
    }),
  ).join('\n---\n')
}

/** True when every simulated node is ready and namespaces get their service account. */
export async function nodesAreReady(access: KubeAccess): Promise<boolean> {
  const nodes = await kubeRequest(access, '/api/v1/nodes')
  const { items } = JSON.parse(nodes.body) as {
    items: readonly {
      metadata: { name: string }
      status: { conditions?: readonly { type: string; status: string }[] }
    }[]
  }
  const ready = items.filter(({ status }) => status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True'))
  if (ready.length < NODES.length) return false
  return answers(access, '/api/v1/namespaces/default/serviceaccounts/default')
}

function startEtcd({ dir, logDir, binaries, ports, ephemeral, onPart }: ClusterOptions): Promise<Part> {
  const url = `http://127.0.0.1:${ports.etcd}`
  return startPart(
    {
      name: 'etcd',
      command: binaries.etcd,
      args: [
        `--data-dir=${join(dir, 'etcd')}`,
        `--listen-client-urls=${url}`,
        `--advertise-client-urls=${url}`,
        '--listen-peer-urls=http://127.0.0.1:0',
        '--auto-compaction-retention=1h',
        '--quota-backend-bytes=2147483648',
        ...(ephemeral ? ['--unsafe-no-fsync'] : []),
      ],
      logFile: join(logDir, 'etcd.log'),
      address: url,
      isReady: async () => (await fetch(`${url}/health`)).ok,
    },
    onPart,
  )
}

async function startApiServer(options: ClusterOptions, adminToken: string): Promise<KubeAccess> {
  const { dir, logDir, binaries, ports, onPart } = options
  const url = `https://127.0.0.1:${ports.kubernetes}`
  const certificate = join(dir, 'tls', 'apiserver.crt')
  const age = await stat(certificate).then(
    ({ mtimeMs }) => (Date.now() - mtimeMs) / 86_400_000,
    () => 0,
  )
  if (age > CERTIFICATE_DAYS) await rm(join(dir, 'tls'), { recursive: true })

  await startPart(
    {
      name: 'kube-apiserver',
      command: binaries['kube-apiserver'],
      args: [
        `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
        '--bind-address=127.0.0.1',
        '--advertise-address=127.0.0.1',
        '--endpoint-reconciler-type=none',
        `--secure-port=${ports.kubernetes}`,
        `--cert-dir=${join(dir, 'tls')}`,
        `--token-auth-file=${join(dir, 'tokens.csv')}`,
        '--anonymous-auth=false',
        '--authorization-mode=RBAC',
        // Enabled as in some distributions, so that roles must contain the permission for owner references.
        '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${join(dir, 'service-account.pub')}`,
        `--service-account-signing-key-file=${join(dir, 'service-account.key')}`,
        '--service-cluster-ip-range=10.96.0.0/16',
        '--allow-privileged=true',
        '--max-requests-inflight=3000',
        '--max-mutating-requests-inflight=1500',
        '--profiling=false',
        ...(await auditArguments(options)),
        ...(await clusterProxyArguments(options)),
      ],
      logFile: join(logDir, 'kube-apiserver.log'),
      address: url,
      isReady: async () => answers({ url, token: adminToken, ca: await readFile(certificate, 'utf8') }, '/readyz'),
    },
    onPart,
  )
  return { url, token: adminToken, ca: await readFile(certificate, 'utf8') }
}

async function auditArguments({ dir, auditLogPath }: ClusterOptions): Promise<readonly string[]> {
  if (auditLogPath === undefined) return []
  const policy = join(dir, 'audit-policy.json')
  const rules = [{ level: 'Metadata' }]
  await writeFile(
    policy,
    JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules }),
  )
  return [
    `--audit-policy-file=${policy}`,
    `--audit-log-path=${auditLogPath}`,
    '--audit-log-mode=blocking',
    '--audit-log-format=json',
    // In MiB; one file, because the test run reads it at its end.
    '--audit-log-maxsize=8192',
  ]
}

async function clusterProxyArguments({ dir, clusterProxy }: ClusterOptions): Promise<readonly string[]> {
  if (clusterProxy === undefined) return []
  const path = join(dir, 'egress.json')
  const connection = { proxyProtocol: 'HTTPConnect', transport: { uds: { udsName: clusterProxy } } }
  const egressSelections = [{ name: 'cluster', connection }]
  const kind = { apiVersion: 'apiserver.k8s.io/v1beta1', kind: 'EgressSelectorConfiguration' }
  await writeFile(path, JSON.stringify({ ...kind, egressSelections }))
  return [`--egress-selector-config-file=${path}`]
}

function startControllers({ dir, logDir, binaries, onPart }: ClusterOptions): Promise<Part> {
  return startPart(
    {
      name: 'kube-controller-manager',
      command: binaries['kube-controller-manager'],
      args: [
        `--kubeconfig=${join(dir, 'controllers.kubeconfig')}`,
        `--service-account-private-key-file=${join(dir, 'service-account.key')}`,
        `--root-ca-file=${join(dir, 'tls', 'apiserver.crt')}`,
        '--use-service-account-credentials=true',
        '--leader-elect=false',
        '--secure-port=0',
        '--kube-api-qps=300',
        '--kube-api-burst=600',
        '--concurrent-namespace-syncs=20',
      ],
      logFile: join(logDir, 'kube-controller-manager.log'),
    },
    onPart,
  )
}

function startScheduler({ dir, logDir, binaries, onPart }: ClusterOptions): Promise<Part> {
  return startPart(
    {
      name: 'kube-scheduler',
      command: binaries['kube-scheduler'],
      args: [`--kubeconfig=${join(dir, 'scheduler.kubeconfig')}`, '--leader-elect=false', '--secure-port=0'],
      logFile: join(logDir, 'kube-scheduler.log'),
    },
    onPart,
  )
}

async function startKwok({ dir, logDir, binaries, onPart }: ClusterOptions): Promise<Part> {
  const stages = join(dir, 'stages.yaml')
  const template = await readFile(fileURLToPath(new URL('kwok/stages.yaml', BINARIES_DIR)), 'utf8')
  await writeFile(stages, stagesFor(template, podLabels()))
  return await startPart(
    {
      name: 'kwok',
      command: binaries.kwok,
      args: [
        `--kubeconfig=${join(dir, 'kwok.kubeconfig')}`,
        `--config=${stages}`,
        '--manage-all-nodes=false',
        '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake',
        '--node-lease-duration-seconds=40',
        '--cidr=10.244.0.0/16',
        '--node-ip=127.0.0.1',
      ],
      logFile: join(logDir, 'kwok.log'),
    },
    onPart,
  )
}

/** The labels of pods that the node agent runs. */
function podLabels(): readonly string[] {
  return Object.values(PODS).flatMap(({ labels }) => labels)
}

/** The stages with a line for each label: kwok ignores pods that have one of the labels. */
export function stagesFor(template: string, labels: readonly string[]): string {
  return template.replaceAll(new RegExp(`^.*${NODE_AGENT_LABEL}.*$`, 'gm'), (line) =>
    [NODE_AGENT_LABEL, ...labels].map((label) => line.replace(NODE_AGENT_LABEL, label)).join('\n'),
  )
}

/** N1, N2 */
async function makeCredentials(dir: string): Promise<Readonly<Record<Identity, string>>> {
  const tokenFile = join(dir, 'tokens.json')
  const known = await readFile(tokenFile, 'utf8').catch(() => undefined)
  if (known !== undefined) return JSON.parse(known) as Record<Identity, string>

  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  await writeFile(join(dir, 'service-account.key'), privateKey, { mode: 0o600 })
  await writeFile(join(dir, 'service-account.pub'), publicKey, { mode: 0o600 })

  const token = () => randomBytes(24).toString('hex')
  const tokens = { admin: token(), controllers: token(), scheduler: token(), kwok: token() }
  const lines = (Object.keys(IDENTITIES) as Identity[]).map((name) => {
    const { user, groups } = IDENTITIES[name]
    return `${tokens[name]},${user},${user}${groups === '' ? '' : `,"${groups}"`}`
  })
  await writeFile(join(dir, 'tokens.csv'), `${lines.join('\n')}\n`, { mode: 0o600 })
  // Written last: its presence shows that the other files are complete.
  await writeFile(tokenFile, JSON.stringify(tokens), { mode: 0o600 })
  return tokens
}

function kubeconfig({ url, token, ca }: KubeAccess, name: string): string {
  // JSON is valid YAML, so no YAML writer is needed.
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  }
  return `${JSON.stringify(content, null, 2)}\n`
}

// Requests for readiness and nodes, sent before Pawl's client exists.

export interface KubeAccess {
  /** e.g. https://127.0.0.1:6443 */
  readonly url: string
  readonly token: string
  /** PEM of the certificate authority. */
  readonly ca: string
}

/** Sends one request; resolves with status and body for every status. */
export function kubeRequest(
  access: KubeAccess,
  path: string,
  method: 'GET' | 'DELETE' = 'GET',
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${access.token}` }
    const call = request(
      `${access.url}${path}`,
      { method, ca: access.ca, agent: false, timeout: 5000, headers },
      (response) => {
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (body += chunk))
        response.once('end', () => resolve({ status: response.statusCode ?? 0, body }))
        response.once('error', reject)
      },
    )
    call.once('timeout', () => call.destroy(new Error(`${access.url}${path} did not answer within 5 s`)))
    call.once('error', reject)
    call.end()
  })
}

/** True when a GET of the path answers 200. */
export async function answers(access: KubeAccess, path: string): Promise<boolean> {
  return (await kubeRequest(access, path)).status === 200
}
