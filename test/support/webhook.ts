// The webhook as a real process of a test's own: for one namespace, as an account with the roles that Pawl ships and no other right.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile } from 'node:fs/promises'
import { closeSync, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseAllDocuments } from 'yaml'

import { resourcePath } from '../../activities/kube/resource-path.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import { childEnvironment, processArgs } from '../../worker/server/config.ts'
import { makeAccount } from './account.ts'
import { Cluster } from './cluster.ts'
import { freePort } from './free-port.ts'
import { RIGHTS } from './rights.ts'
import type { TestServers } from './servers.ts'

const RBAC = 'rbac.authorization.k8s.io/v1'
const CONFIGURATION = 'landscaper-validation-webhook'
const ADMISSION = 'admissionregistration.k8s.io/v1'
// On a busy machine a process takes many seconds to start.
const START_LIMIT_MS = 90_000

export class WebhookStage {
  /** Whose objects it is asked about. */
  readonly cluster: Cluster
  /** Where its account and its Secret are. */
  readonly home: Cluster
  readonly #account: string
  readonly #dir: string
  readonly #running = new Map<string, ChildProcess>()
  readonly #healthPorts = new Map<string, number>()

  private constructor(
    clusters: { readonly cluster: Cluster; readonly home: Cluster },
    paths: { readonly account: string; readonly dir: string },
  ) {
    this.cluster = clusters.cluster
    this.home = clusters.home
    this.#account = paths.account
    this.#dir = paths.dir
  }

  static async open(servers: Pick<TestServers, 'kubeconfigPath'>, name: string): Promise<WebhookStage> {
    const cluster = new Cluster(servers.kubeconfigPath, name)
    const home = new Cluster(servers.kubeconfigPath, `${RIGHTS}-${name}`)
    await cluster.createNamespace()
    await home.createNamespace()
    const account = await makeAccount(servers, home, 'pawl-webhook')
    await grant(home, `${CONFIGURATION}-${name}`)
    return new WebhookStage({ cluster, home }, { account, dir: await mkdtemp(join(tmpdir(), 'pawl-webhook-')) })
  }

  /** Starts one that is reached by a port of its own, in place of a former one of the name. @returns its port, when it is ready. */
  async start(name: string, flags: readonly string[] = []): Promise<number> {
    await this.stop(name)
    const [port, healthPort] = [await freePort(), await freePort()]
    const fd = openSync(join(this.#dir, `${name}.log`), 'a')
    const given = [
      ...['--kubeconfig', this.#account, '--namespace', this.cluster.namespace, '--host', '127.0.0.1'],
      ...['--port', String(port), '--health-port', String(healthPort), '--drain-ms', '0'],
      ...['--certificate-secret', `${this.home.namespace}/pawl-webhook-certificates`],
      ...(flags.includes('--url') ? [] : ['--url', `https://127.0.0.1:${port}`]),
      ...flags,
    ]
    const child = spawn(process.execPath, processArgs('webhook.ts', given), {
      env: childEnvironment(),
      stdio: ['ignore', fd, fd],
    })
    closeSync(fd)
    this.#running.set(name, child)
    this.#healthPorts.set(name, healthPort)
    const deadline = Date.now() + START_LIMIT_MS
    while (!(await isReady(healthPort))) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`${name} is not ready: ${await this.log(name)}`)
      await sleep(50)
    }
    return port
  }

  async stop(name: string, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#running.get(name)
    this.#running.delete(name)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  async isReady(name: string): Promise<boolean> {
    return await isReady(this.#healthPorts.get(name) ?? 0)
  }

  async log(name: string): Promise<string> {
    return await readFile(join(this.#dir, `${name}.log`), 'utf8')
  }

  /** The configuration that the process writes. */
  get configurationPath(): string {
    const name = `${CONFIGURATION}-${this.cluster.namespace}`
    return resourcePath({ apiVersion: ADMISSION, plural: 'validatingwebhookconfigurations' }, undefined, name)
  }

  async close(): Promise<void> {
    for (const name of [...this.#running.keys()]) await this.stop(name)
    await this.cluster.kube.request('DELETE', this.configurationPath).catch((error: unknown) => {
      if (!isNotFound(error)) throw error
    })
    await Promise.all([this.cluster.kube.close(), this.home.kube.close()])
  }
}

async function isReady(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )
}

export interface ShippedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: Readonly<Record<string, unknown>>
  readonly roleRef?: { readonly name: string }
  readonly subjects?: readonly object[]
}

/** The objects of `deploy/webhook.yaml`, or of another file there. */
export async function shippedObjects(file: 'api.yaml' | 'webhook.yaml'): Promise<readonly ShippedObject[]> {
  return objectsIn(await readFile(new URL(`../../deploy/${file}`, import.meta.url), 'utf8'))
}

function objectsIn(text: string): readonly ShippedObject[] {
  return parseAllDocuments(text).map((document) => document.toJS() as ShippedObject)
}

/** The shipped roles and bindings, whose configuration has the name that it has for one namespace. */
async function grant({ kube, namespace }: Cluster, configuration: string): Promise<void> {
  const roles = await readFile(new URL('../../deploy/rbac/webhook.yaml', import.meta.url), 'utf8')
  const bindings = await readFile(new URL('../../deploy/webhook.yaml', import.meta.url), 'utf8')
  const named = (text: string) => text.replaceAll(/^( +name: )pawl-webhook/gm, `$1${namespace}-webhook`)
  for (const object of objectsIn(named(roles.replace(`- ${CONFIGURATION}\n`, `- ${configuration}\n`)))) {
    await kube.request('POST', resourcePath({ apiVersion: RBAC, plural: 'clusterroles' }, undefined), { body: object })
  }
  for (const object of objectsIn(named(bindings)).filter(({ kind }) => kind.endsWith('RoleBinding'))) {
    const isOfHome = object.metadata.namespace !== undefined
    const subjects = [{ kind: 'ServiceAccount', namespace, name: 'pawl-webhook' }]
    const metadata = { name: object.metadata.name, ...(isOfHome && { namespace }) }
    const plural = `${object.kind.toLowerCase()}s`
    const path = resourcePath({ apiVersion: RBAC, plural }, isOfHome ? namespace : undefined)
    await kube.request('POST', path, { body: { ...object, metadata, subjects } })
  }
}
