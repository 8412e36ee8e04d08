// Runs the webhook as its own process for a test, for one namespace, with an account that has only the shipped roles.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile } from 'node:fs/promises'
import { closeSync, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseAllDocuments } from 'yaml'

import type { ObjectList } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { isNotFound } from '../../../activities/kube/errors.ts'
import { childEnvironment, processArgs } from '../../../worker/server/config.ts'
import { makeAccount } from '../rights/accounts.ts'
import { Cluster } from '../cluster/cluster.ts'
import { freePort } from '../servers/free-port.ts'
import { RIGHTS } from '../rights/accounts.ts'
import type { TestServers } from '../servers/servers.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const RBAC = 'rbac.authorization.k8s.io/v1'
const CONFIGURATION = 'landscaper-validation-webhook'
const MUTATION = 'landscaper-mutation-webhook'
const ADMISSION = 'admissionregistration.k8s.io/v1'
// On a busy machine a process takes many seconds to start.
const START_LIMIT_MS = 90_000

export class WebhookStage {
  /** The namespace of the validated objects. */
  readonly cluster: Cluster
  /** The namespace of the webhook's account and its Secret. */
  readonly home: Cluster
  readonly #account: string
  readonly #dir: string
  readonly #checkout: string | undefined
  readonly #running = new Map<string, ChildProcess>()
  readonly #healthPorts = new Map<string, number>()

  private constructor(
    clusters: { readonly cluster: Cluster; readonly home: Cluster },
    paths: { readonly account: string; readonly dir: string; readonly checkout: string | undefined },
  ) {
    this.cluster = clusters.cluster
    this.home = clusters.home
    this.#account = paths.account
    this.#dir = paths.dir
    this.#checkout = paths.checkout
  }

  /** @param checkout another checkout, whose webhook and roles the test uses. Default: the present checkout. */
  static async open(
    servers: Pick<TestServers, 'kubeconfigPath'>,
    name: string,
    checkout?: string,
  ): Promise<WebhookStage> {
    const cluster = new Cluster(servers.kubeconfigPath, name)
    const home = new Cluster(servers.kubeconfigPath, `${RIGHTS}-${name}`)
    await cluster.createNamespace()
    await home.createNamespace()
    const account = await makeAccount(servers, home, 'pawl-webhook')
    await grant(home, name, checkout)
    const dir = await mkdtemp(join(tmpdir(), 'pawl-webhook-'))
    return new WebhookStage({ cluster, home }, { account, dir, checkout })
  }

  /**
   * Starts a webhook process on its own port. Stops the previous process with this name first.
   *
   * @returns the port, after the process is ready.
   */
  async start(name: string, flags: readonly string[] = []): Promise<number> {
    await this.stop(name)
    const [port, healthPort] = [await freePort(), await freePort()]
    const fd = openSync(join(this.#dir, `${name}.log`), 'a')
    const given = [
      ...['--kubeconfig', this.#account, '--namespace', this.cluster.namespace, '--host', '127.0.0.1'],
      ...['--port', String(port), '--health-port', String(healthPort), '--drain-ms', '0'],
      ...['--certificate-secret', `${this.home.namespace}/pawl-webhook-certificates`],
      // The process may hang for some seconds on a busy machine, and the API server does not retry.
      ...(flags.includes('--timeout') ? [] : ['--timeout', '25s']),
      ...(flags.includes('--url') ? [] : ['--url', `https://127.0.0.1:${port}`]),
      ...flags,
    ]
    const args = (await programOf(this.#checkout))('webhook.ts', given)
    const child = spawn(process.execPath, args, {
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

  /** The lines of the process's metrics. */
  async metrics(name: string): Promise<readonly string[]> {
    const answer = await fetch(`http://127.0.0.1:${this.#healthPorts.get(name) ?? 0}/metrics`)
    return (await answer.text()).split('\n')
  }

  async log(name: string): Promise<string> {
    return await readFile(join(this.#dir, `${name}.log`), 'utf8')
  }

  /** The paths of the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration that the process writes. */
  get configurationPath(): string {
    const name = `${CONFIGURATION}-${this.cluster.namespace}`
    return resourcePath({ apiVersion: ADMISSION, plural: 'validatingwebhookconfigurations' }, undefined, name)
  }
  get mutationPath(): string {
    const name = `${MUTATION}-${this.cluster.namespace}`
    return resourcePath({ apiVersion: ADMISSION, plural: 'mutatingwebhookconfigurations' }, undefined, name)
  }

  async close(): Promise<void> {
    for (const name of [...this.#running.keys()]) await this.stop(name)
    const { kube, namespace } = this.cluster
    for (const plural of ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations']) {
      const resource = { apiVersion: ADMISSION, plural }
      const { items } = await kube.request<ObjectList>('GET', resourcePath(resource, undefined))
      for (const { metadata } of items.filter((one) => one.metadata.name.endsWith(`-webhook-${namespace}`)))
        await kube.request('DELETE', resourcePath(resource, undefined, metadata.name)).catch((error: unknown) => {
          if (!isNotFound(error)) throw error
        })
    }
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

/** The objects in `deploy/webhook.yaml` or `deploy/api.yaml`. */
export async function shippedObjects(file: 'api.yaml' | 'webhook.yaml'): Promise<readonly ShippedObject[]> {
  return objectsIn(await readFile(new URL(`../../../deploy/${file}`, import.meta.url), 'utf8'))
}

function objectsIn(text: string): readonly ShippedObject[] {
  return parseAllDocuments(text).map((document) => document.toJS() as ShippedObject)
}

/** Creates the shipped roles and bindings, with the names that webhook configurations have for one namespace. */
async function grant({ kube, namespace }: Cluster, of: string, checkout = ROOT): Promise<void> {
  const named = (text: string) => text.replaceAll(/^( +name: )pawl-webhook/gm, `$1${namespace}-webhook`)
  const roles = objectsIn(named(await readFile(join(checkout, 'deploy/rbac/webhook.yaml'), 'utf8')))
  for (const role of [...roles.map((one) => ofOneNamespace(one, of)), ...(await wingRoles(checkout, named))])
    await kube.request('POST', resourcePath({ apiVersion: RBAC, plural: 'clusterroles' }, undefined), { body: role })
  const bindings = objectsIn(named(await readFile(join(ROOT, 'deploy/webhook.yaml'), 'utf8')))
  const subjects = [{ kind: 'ServiceAccount', namespace, name: 'pawl-webhook' }]
  for (const object of bindings.filter(({ kind }) => kind.endsWith('RoleBinding'))) {
    const isOfHome = object.metadata.namespace !== undefined
    const metadata = { name: object.metadata.name, ...(isOfHome && { namespace }) }
    const plural = `${object.kind.toLowerCase()}s`
    const path = resourcePath({ apiVersion: RBAC, plural }, isOfHome ? namespace : undefined)
    await kube.request('POST', path, { body: { ...object, metadata, subjects } })
  }
  for (const { metadata } of await wingRoles(checkout, named)) {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name }
    const body = { apiVersion: RBAC, kind: 'ClusterRoleBinding', metadata: { name: metadata.name }, roleRef, subjects }
    await kube.request('POST', resourcePath({ apiVersion: RBAC, plural: 'clusterrolebindings' }, undefined), { body })
  }
}

/** The roles of wings whose validation rules read objects. */
async function wingRoles(checkout: string, named: (text: string) => string): Promise<readonly ShippedObject[]> {
  const folder = join(checkout, 'deploy/rbac')
  const files = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('/webhook.yaml'))
  const texts = await Promise.all(files.map((path) => readFile(join(folder, path), 'utf8')))
  return texts.flatMap((text) => objectsIn(named(text)))
}

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resourceNames?: readonly string[]
}

function ofOneNamespace(role: ShippedObject & { readonly rules?: readonly Rule[] }, of: string): ShippedObject {
  const rules = role.rules?.map((rule) =>
    rule.resourceNames !== undefined && rule.apiGroups.includes('admissionregistration.k8s.io')
      ? { ...rule, resourceNames: rule.resourceNames.map((name) => `${name}-${of}`) }
      : rule,
  )
  return { ...role, ...(rules !== undefined && { rules }) }
}

async function programOf(checkout: string | undefined): Promise<typeof processArgs> {
  if (checkout === undefined) return processArgs
  const module = (await import(pathToFileURL(join(checkout, 'worker/server/config.ts')).href)) as object
  return (module as { processArgs: typeof processArgs }).processArgs
}
