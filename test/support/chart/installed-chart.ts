// A cluster on which the commands of docs/start/install-on-a-cluster.md install Pawl: a node whose pods the node agent runs
// as processes of Pawl's image, a registry, a database, and a shell for the commands.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'

import { childEnvironment } from '../../../worker/server/config.ts'
import { PAWL_VERSION } from '../../../worker/server/version.ts'
import { Cluster } from '../cluster/cluster.ts'
import { ServiceProxy } from '../cluster/service-proxy.ts'
import { ARCHITECTURE } from '../image/images.ts'
import { registryBinary } from '../registries/registry-binaries.ts'
import { OciRegistry } from '../registries/oci-registry.ts'
import { postgresClientPrograms } from '../servers/postgres-client.ts'
import type { TestServers } from '../servers/servers.ts'
import { asAdmin, createDatabase, withDatabase } from './chart-database.ts'
import { PulledImages } from './pulled-images.ts'
import { createVolumes, placePrograms, TRIAL_VALUES } from './trial-release.ts'

const ROOT = new URL('../../../', import.meta.url).pathname
const INSTALL_PAGE = 'docs/start/install-on-a-cluster.md'
const API_PAGE = 'docs/guides/journal-api.md'
/** Its commands are for clusters with or without the chart. */
export const UPGRADE_PAGE = 'docs/guides/upgrade.md'
const PROGRAM = join(ROOT, 'worker/program.ts')
const PODS = join(ROOT, 'test/support/image/image-pods.js')
/** The namespace of the page. */
export const NAMESPACE = 'pawl'
/** The namespace of the trial. */
export const TRIAL_NAMESPACE = 'pawl-trial'
/** Only pods of the chart tolerate it. */
const TAINT = { key: 'pawl.dev/chart', value: 'yes', effect: 'NoSchedule' }
const NODE = 'chart-node'
const run = promisify(execFile)

interface Release {
  readonly checkout: string
  readonly version: string
  /** Of the repository of its image. */
  readonly name: string
}

const CURRENT: Release = { checkout: ROOT, version: PAWL_VERSION, name: 'pawl' }
/** The release that is installed first and upgraded: the checkout in `$PAWL_FORMER`, if it is set. */
const FORMER = process.env['PAWL_FORMER'] === undefined ? undefined : formerRelease(process.env['PAWL_FORMER'])

function formerRelease(checkout: string): Release {
  const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { readonly version: string }
  return { checkout, version, name: 'former' }
}

export class ChartStage {
  readonly cluster: Cluster
  readonly servers: TestServers
  readonly #folder: string
  readonly #registry: OciRegistry
  readonly #databaseUrl: string
  readonly #npmPackage: string
  readonly #services: readonly ServiceProxy[]
  /** The release whose commands and image are in use. */
  #release: Release
  readonly #images: PulledImages
  #agent: ChildProcess | undefined
  #values: object = {}
  readonly #atEnd: (() => Promise<void>)[] = []

  private constructor(
    servers: TestServers,
    {
      folder,
      registry,
      databaseUrl,
      npmPackage,
    }: Readonly<Record<'folder' | 'databaseUrl' | 'npmPackage', string>> & {
      readonly registry: OciRegistry
    },
  ) {
    this.cluster = new Cluster(servers.kubeconfigPath, NAMESPACE)
    this.servers = servers
    this.#folder = folder
    this.#registry = registry
    this.#databaseUrl = databaseUrl
    this.#npmPackage = npmPackage
    this.#release = FORMER ?? CURRENT
    this.#images = new PulledImages(join(folder, 'images.json'))
    this.#services = [NAMESPACE, TRIAL_NAMESPACE].map((namespace) => {
      return new ServiceProxy(this.cluster.kube, namespace, join(folder, `${namespace}.hosts`))
    })
  }

  /** @param npmPackage the package of this checkout: the images contain it. */
  static async start(servers: TestServers, npmPackage: string): Promise<ChartStage> {
    const folder = await mkdtemp(join(tmpdir(), 'pawl-chart-'))
    // The users of pods read files in it.
    await chmod(folder, 0o711)
    const bin = join(folder, 'bin')
    await mkdir(bin)
    const client = await postgresClientPrograms()
    const programs = {
      pg_dump: join(client, 'pg_dump'),
      pg_restore: join(client, 'pg_restore'),
      helm: await registryBinary('helm'),
      kubectl: servers.kubectlPath,
      temporal: servers.temporalBinary,
    }
    for (const [name, path] of Object.entries(programs)) await symlink(path, join(bin, name))
    const [registry, databaseUrl] = [await OciRegistry.start(), await createDatabase(servers.databaseUrl)]
    const stage = new ChartStage(servers, { folder, registry, databaseUrl, npmPackage })
    await copyFile(servers.kubeconfigPath, join(folder, 'kubeconfig'))
    await stage.shell(`kubectl config set-context --current --namespace ${NAMESPACE}`)
    await stage.cluster.kube.request('POST', '/api/v1/nodes', { body: NODE_OBJECT })
    return stage
  }

  /** `127.0.0.1:5000/team/pawl:0.1.0` */
  get image(): string {
    return `${this.#repository}:${this.#release.version}`
  }

  get #repository(): string {
    return `${this.#registry.host}/team/${this.#release.name}`
  }

  /** The folder of the page's backup. */
  get backup(): string {
    return join(this.#folder, 'backup')
  }

  /** Drops the journal's database, also with connections to it. */
  async dropDatabase(): Promise<void> {
    const { pathname } = new URL(this.#databaseUrl)
    await asAdmin(this.servers.databaseUrl, `drop database ${pathname.slice(1)} with (force)`)
  }

  /**
   * Builds the image of this checkout, with which the next commands work, if the release so far is a former one. The name
   * of the image in the values changes.
   */
  async becomeCurrent(): Promise<void> {
    if (this.#release === CURRENT) return
    this.#release = CURRENT
    await this.runSection('Build the image')
    await this.pullImage()
    await this.changeValues({ image: { repository: this.#repository } })
  }

  /** Runs the commands of a section of a page, in the checkout of the release. @returns their output. */
  async runSection(title: string, page: string = INSTALL_PAGE): Promise<string> {
    const path = join(this.#release.checkout, page)
    const section = await sectionOf(title, path)
    const values = this.#valuesIn(section)
    if (values !== undefined) await this.changeValues({ ...MACHINE_VALUES, ...RELEASE_VALUES, ...values })
    const commands = [...section.matchAll(/^```sh\n([^]*?)^```/gm)].map(([, text = '']) => text)
    if (commands.length === 0) throw new Error(`${path}: found no commands in the section "${title}"`)
    return await this.shell(this.#withAddresses(commands.join('')))
  }

  /**
   * Installs a release with the values of the page's section about the trial, and roles for the whole cluster; Helm waits
   * until it is ready. Its bridge watches one namespace, because other Pawls reconcile the others at the same time.
   */
  async installTrial(): Promise<void> {
    const deleteVolumes = await createVolumes(this.cluster.kube, join(this.#folder, 'volumes'))
    this.#atEnd.push(deleteVolumes)
    const page = join(this.#release.checkout, INSTALL_PAGE)
    const { trial, ...values } = this.#valuesIn(await sectionOf('A trial', page)) ?? {}
    const [password, contentKey] = ['chart-trial', 'ab'.repeat(32)]
    const all = {
      ...MACHINE_VALUES,
      ...values,
      bridge: { replicas: 1, args: [`--namespace=${TRIAL_NAMESPACE}`] },
      trial: { ...trial, ...TRIAL_VALUES, password, contentKey },
    }
    const path = join(this.#folder, 'trial.yaml')
    await writeFile(path, JSON.stringify(all))
    await this.shell(
      [
        `kubectl create namespace ${TRIAL_NAMESPACE}`,
        `kubectl label namespace ${TRIAL_NAMESPACE} pod-security.kubernetes.io/enforce=restricted`,
        `helm install try deploy/chart --namespace ${TRIAL_NAMESPACE} --values ${path} --wait`,
      ].join('\n'),
    )
  }

  /** Changes values in the file of the page, `values.yaml`. */
  async changeValues(values: object): Promise<void> {
    this.#values = { ...this.#values, ...values }
    await writeFile(join(this.#folder, 'values.yaml'), JSON.stringify(this.#values))
  }

  /** Runs commands with Helm, kubectl and Temporal's command line. @returns their output. */
  async shell(script: string): Promise<string> {
    const path = `${join(this.#folder, 'bin')}:${process.env['PATH'] ?? ''}`
    const env = childEnvironment({ PATH: path, KUBECONFIG: join(this.#folder, 'kubeconfig') })
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: this.#release.checkout,
      env,
      maxBuffer: 1e8,
    })
    return stdout
  }

  /**
   * Runs a command of the install page in the container of a worker, as `kubectl exec` does, which needs a kubelet. The
   * namespace of the Installations is that of this test.
   *
   * @param command finds the command in the page. @returns its output.
   */
  async execInWorker(command: RegExp): Promise<string> {
    const page = await readFile(join(this.#release.checkout, INSTALL_PAGE), 'utf8')
    const [, words = ''] = command.exec(page) ?? []
    const [pid = 0] = await this.processesOf('worker')
    const lines = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0').filter((line) => line !== '')
    const env = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]))
    const asContainer = ['--target', String(pid), '--mount', '--root', '--setuid', '65532', '--setgid', '65532', '--']
    const args = words.replace('-n default', `-n ${NAMESPACE}`).split(' ')
    return (await run('nsenter', [...asContainer, ...args], { env })).stdout
  }

  /** Creates the Secrets of `pawl api`, and its role in PostgreSQL, with the commands of its page. */
  async createApiSecrets(): Promise<void> {
    const [page, role] = [await readFile(join(this.#release.checkout, API_PAGE), 'utf8'), `chart_reader_${process.pid}`]
    const url = new URL(this.#databaseUrl)
    url.username = role
    url.password = role
    const commands = page
      .replaceAll('pawl_api', role)
      .replaceAll('CHANGE-ME', role)
      .replace(/postgresql:.*$/m, url.href)
      .replaceAll(/tls\.(?:key|crt)(?= |$)/gm, (name) => join(this.#folder, name))
    const [, statements = ''] = /<<'SQL'\n([^]*?)SQL\n/.exec(commands) ?? []
    const [, createRole = '', grants = ''] = /^(create role .*;\n)([^]*)$/.exec(statements) ?? []
    await asAdmin(this.servers.databaseUrl, createRole)
    await asAdmin(this.#databaseUrl, grants)
    const lines = commands.split('\n').filter((line) => /^openssl |create secret /.test(line))
    await this.shell(lines.join('\n'))
  }

  /** Pulls the image of the release. */
  async pullImage(): Promise<void> {
    await this.#images.pull(this.image, this.#registry.url)
  }

  /**
   * Upgrades the release to an image that a user makes from its image, with controllers of this checkout.
   *
   * @param folder in the checkout. @param packages in its node_modules, which the controllers import.
   */
  async useControllers(folder: string, packages: readonly string[]): Promise<void> {
    const repository = `${this.#repository}-controllers`
    const name = `${repository}:${this.#release.version}`
    const controllers = [await this.#images.addControllers(name, this.image, folder, packages)]
    await this.changeValues({ image: { repository }, controllers })
    const values = join(this.#folder, 'values.yaml')
    await this.shell(`helm upgrade pawl deploy/chart --namespace ${NAMESPACE} --values ${values} --wait`)
  }

  /** Starts the node agent, which runs pods with the pulled images. */
  async startNode(): Promise<void> {
    const { kubeconfigPath, temporalBinary } = this.servers
    await placePrograms(join(this.#folder, 'programs'), temporalBinary)
    const own = ['--nodes', NODE, '--kubeconfig', kubeconfigPath, '--state', join(this.#folder, 'state')]
    const wing = ['--wings', 'chaos', '--chaos-namespace', NAMESPACE]
    const args = [PROGRAM, 'node-agent', ...wing, '--pods', PODS, '--at-end', 'stop', ...own]
    const env = childEnvironment({
      PAWL_IMAGES: this.#images.path,
      PAWL_HOSTS: this.#folder,
      PAWL_TRIAL_PROGRAMS: join(this.#folder, 'programs'),
      PAWL_API_SERVER: serverOf(kubeconfigPath),
      PAWL_LOG_LEVEL: 'warn',
    })
    this.#agent = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  }

  /** PIDs of the processes of the image that run this command of pawl, in pods of this cluster. */
  async processesOf(command: string): Promise<readonly number[]> {
    const [, port = ''] = serverOf(this.servers.kubeconfigPath).split(':')
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
    const found = await Promise.all(
      pids.map(async (pid) => {
        const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
        if (words[2] !== '/usr/local/bin/pawl' || words[3] !== command) return []
        const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
        return environment.split('\0').includes(`KUBERNETES_SERVICE_PORT=${port}`) ? [Number(pid)] : []
      }),
    )
    return found.flat()
  }

  /**
   * Requests that the API server refused because of missing permissions.
   *
   * @param accounts how their names begin: `NAMESPACE:NAME`.
   */
  deniedRequests(accounts: string): readonly string[] {
    const account = `"system:serviceaccount:${accounts}`
    const lines = readFileSync(this.servers.auditLogPath, 'utf8').split('\n')
    return lines.filter((line) => line.includes(account) && line.includes('"authorization.k8s.io/decision":"forbid"'))
  }

  async stop(): Promise<void> {
    if (this.#agent !== undefined) {
      const ended = once(this.#agent, 'exit')
      this.#agent.kill('SIGTERM')
      await ended
    }
    for (const atEnd of this.#atEnd) await atEnd()
    for (const services of this.#services) await services.stop()
    await this.#registry.stop()
    await this.cluster.kube.request('DELETE', `/api/v1/nodes/${NODE}`)
    await this.cluster.kube.close()
    await this.#images.remove()
    await rm(this.#folder, { recursive: true, maxRetries: 10 })
  }

  /** The values in a section of the page. */
  #valuesIn(section: string): Values | undefined {
    const [, text] = /```yaml\n([^]*?)```/.exec(section) ?? []
    return text === undefined ? undefined : (parse(this.#withAddresses(text)) as Values)
  }

  /** The addresses of the page are replaced by those of this machine. Only one image is built, to save time. */
  #withAddresses(text: string): string {
    const image = ['--variant', 'engine', '--platform', ARCHITECTURE, '--out', join(this.#folder, 'image')]
    if (this.#release === CURRENT) image.push('--package', this.#npmPackage)
    return text
      .replace(/npm ci\n|npx pawl doctor\n/g, '')
      .replace('npm run image --', `npm run image -- ${image.join(' ')}`)
      .replaceAll('registry.example.com/team/pawl', this.#repository)
      .replaceAll('postgresql://pawl:PASSWORD@postgresql.example.com/pawl', this.#databaseUrl)
      .replaceAll(
        'postgresql://pawl:PASSWORD@postgresql.example.com/postgres',
        withDatabase(this.#databaseUrl, 'postgres'),
      )
      .replaceAll('../pawl-backup', this.backup)
      .replaceAll('=IMAGE', `=${this.image}`)
      .replaceAll('temporal.example.com:7233', this.servers.temporalAddress)
      .replaceAll('values.yaml', join(this.#folder, 'values.yaml'))
  }
}

type Values = Readonly<Record<string, object | undefined>>

async function sectionOf(title: string, path: string): Promise<string> {
  const page = await readFile(path, 'utf8')
  return page.split(/^#{2,3} /m).find((text) => text.startsWith(`${title}\n`)) ?? ''
}

/** Values that this machine needs in addition to those of the page. */
const MACHINE_VALUES = {
  podLabels: { 'pawl.dev/node-agent': 'yes' },
  nodeSelector: { 'kubernetes.io/hostname': NODE },
  tolerations: [{ key: TAINT.key, operator: 'Exists' }],
  bridge: { replicas: 1 },
  worker: { replicas: 1 },
}

const RELEASE_VALUES = {
  // Other Pawls use this cluster at the same time.
  watchNamespace: NAMESPACE,
  webhook: { enabled: true, replicas: 1 },
  api: { enabled: true, replicas: 1 },
}

const NODE_OBJECT = {
  metadata: {
    name: NODE,
    labels: { 'kubernetes.io/hostname': NODE },
    annotations: { 'kwok.x-k8s.io/node': 'fake', 'node.alpha.kubernetes.io/ttl': '0' },
  },
  spec: { taints: [TAINT] },
}

/** `127.0.0.1:6443` */
function serverOf(kubeconfigPath: string): string {
  const { clusters } = parse(readFileSync(kubeconfigPath, 'utf8')) as {
    readonly clusters: readonly { readonly cluster: { readonly server: string } }[]
  }
  return new URL(clusters[0]?.cluster.server ?? '').host
}
