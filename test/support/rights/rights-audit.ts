// Compares the audit log of a test run with the roles that Pawl ships and generates, and fails the run when the roles
// are wrong. Source: docs/concepts/security.md "What each process may do".
//
//   A1. The API server denies no request of a bridge, worker, webhook or api with only these roles.
//   A2. In a run of all tests, each shipped right is used.

import { createReadStream } from 'node:fs'
import { copyFile, readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseAllDocuments } from 'yaml'

import { PROCESSES, RIGHTS } from './accounts.ts'

// The tests of webhook and api create the accounts of these processes (pawl/webhook.ts, test/env/api.test.ts).
const AUDITED = [...PROCESSES, 'webhook', 'api'] as const
type AuditedName = (typeof AUDITED)[number]

const ROLES = new URL('../../../deploy/rbac/', import.meta.url).pathname

interface RightsReport {
  /** Each denied right once per request path, with the path without its query. */
  readonly denied: readonly string[]
  /** Shipped rights without a request, such as `worker: patch executions.landscaper.gardener.cloud/status`. */
  readonly unused: readonly string[]
}

/** Rights that never appear in the audit log, each with the reason. For a rarely used right, write a test instead. */
const UNSEEN = [
  // The admission plugin OwnerReferencesPermissionEnforcement checks this right when an owner reference has
  // blockOwnerDeletion.
  /^worker: update \w+\.[\w.]+\/finalizers$/,
]

/** @param isWhole whether all tests have run. @throws Error that lists denied requests (A1) and unused rights (A2). */
export async function checkRights(auditLogPath: string, isWhole: boolean, roles = ROLES): Promise<void> {
  const { denied, unused } = await reportRights(auditLogPath, roles)
  const wrong = [
    ...denied.map((right) => `denied: ${right}`),
    ...(isWhole ? unused.map((right) => `unused: ${right}`) : []),
  ]
  if (wrong.length === 0) return
  throw new Error(
    `the roles of the processes are not what they need, by the audit log (CONTRIBUTING.md "Rights"):\n${wrong.join('\n')}`,
  )
}

/** @param roles the folder of the shipped roles. */
async function reportRights(auditLogPath: string, roles: string): Promise<RightsReport> {
  const denied = new Set<string>()
  const used = new Set<string>()
  for await (const { event, isForbidden } of eventsOfAll(auditLogPath)) {
    const name = AUDITED.find((one) => event.user?.username?.endsWith(`:pawl-${one}`))
    if (name === undefined) continue
    const right = rightOf(name, event)
    if (isForbidden) denied.add(`${right} (${event.requestURI.replace(/\?.*$/, '')})`)
    else used.add(right)
  }
  const shipped = await shippedRights(roles)
  const unused = shipped.filter((right) => !used.has(right) && !UNSEEN.some((pattern) => pattern.test(right)))
  return { denied: [...denied].sort(), unused: unused.sort() }
}

/** The denied requests of accounts with this name prefix, without duplicates. */
export async function deniedTo(auditLogPath: string, account: string): Promise<readonly string[]> {
  const denied = new Set<string>()
  for await (const { event, isForbidden } of eventsOf(auditLogPath, account))
    if (isForbidden) denied.add(`${event.verb} ${event.requestURI}`)
  return [...denied]
}

/** The events of the shared cluster and of each cluster that only one test file used (tenants.ts). */
async function* eventsOfAll(auditLogPath: string) {
  yield* eventsOf(auditLogPath, ACCOUNT)
  for (const path of await keptLogs(auditLogPath)) yield* eventsOf(path, ACCOUNT)
}

/** Copies the log of a cluster before its removal. @param auditLogPath of the shared servers. */
export async function keepAuditLog(auditLogPath: string, name: string, log: string): Promise<void> {
  await copyFile(log, `${auditLogPath}.${name}`)
}

async function keptLogs(auditLogPath: string): Promise<readonly string[]> {
  const beginning = `${basename(auditLogPath)}.`
  const files = await readdir(dirname(auditLogPath))
  return files.filter((name) => name.startsWith(beginning)).map((name) => join(dirname(auditLogPath), name))
}

async function* eventsOf(auditLogPath: string, account: string) {
  for await (const line of createInterface({ input: createReadStream(auditLogPath) })) {
    // The last line may be incomplete.
    if (!line.includes(`"username":"${account}`) || !line.endsWith('}')) continue
    const event = JSON.parse(line) as AuditEvent
    yield { event, isForbidden: event.annotations?.[DECISION] === 'forbid' }
  }
}

const ACCOUNT = `system:serviceaccount:${RIGHTS}`
const DECISION = 'authorization.k8s.io/decision'

interface AuditEvent {
  readonly verb: string
  readonly requestURI: string
  readonly user?: { readonly username?: string }
  readonly objectRef?: { readonly apiGroup?: string; readonly resource?: string; readonly subresource?: string }
  readonly annotations?: Readonly<Record<string, string>>
}

function rightOf(
  name: AuditedName,
  { verb, objectRef: { apiGroup = '', resource = '', subresource } = {} }: AuditEvent,
) {
  return rightText(name, verb, apiGroup, subresource === undefined ? resource : `${resource}/${subresource}`)
}

function rightText(name: AuditedName, verb: string, group: string, path: string): string {
  const [resource = '', subresource] = path.split('/')
  const full = group === '' ? resource : `${resource}.${group}`
  return `${name}: ${verb} ${subresource === undefined ? full : `${full}/${subresource}`}`
}

interface Role {
  readonly rules: readonly { readonly apiGroups: string[]; readonly resources: string[]; readonly verbs: string[] }[]
}

async function shippedRights(roles: string): Promise<readonly string[]> {
  const files = (await readdir(roles, { recursive: true })).filter((path) => path.endsWith('.yaml'))
  const rights = await Promise.all(
    files.map(async (path) => {
      const documents = parseAllDocuments(await readFile(join(roles, path), 'utf8'))
      const name = AUDITED.find((one) => path.endsWith(`${one}.yaml`)) ?? 'worker'
      return documents
        .flatMap((document) => (document.toJS() as Role).rules)
        .flatMap(({ apiGroups, resources, verbs }) =>
          apiGroups.flatMap((group) =>
            resources.flatMap((resource) => verbs.map((verb) => rightText(name, verb, group, resource))),
          ),
        )
    }),
  )
  return rights.flat()
}
