// Reads the entries of a source cluster that a TargetSync selects by name: Secrets with a kubeconfig, or Shoots.
//
//   E1. Expressions have RE2 syntax, and are matched where templates run, so that no pattern blocks the worker.
//   E2. The answers of a source are validated before use, because it is a user's cluster.
//   E3. Memory has one batch of unmatched names and the matching entries, up to a limit.

import type { TargetSync } from '../../../workflows/landscaper/target-sync/kind.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import { entriesOf } from '../../kube/core-kinds.ts'
import { tenantOf } from '../tenant-call.ts'
import type { LandscaperDeps } from '../deps.ts'
import { listObjects } from '../deploy/target/answers.ts'
import { shootResource } from '../deploy/target/gardener.ts'
import type { TargetCluster } from '../deploy/target/target-cluster.ts'
import { isObjectName } from '../deploy/target/target-config.ts'
import { TemplateError } from '../render/render-errors.ts'

/** Per namespace. */
const MOST_ENTRIES = 1000
const MIB = 1024 * 1024
/** Sum of all matching kubeconfigs, in base64. */
const MOST_BYTES = 32 * MIB
/** Size of a batch to match. */
const BATCH_ENTRIES = 200
const BATCH_BYTES = 4 * MIB
const SECRETS = { apiVersion: 'v1', plural: 'secrets' }
export const KUBECONFIG_KEY = 'kubeconfig'

/** A defect of a TargetSync or of its source, for users. */
export class SyncProblem extends Error {}

export interface SourceEntry {
  readonly name: string
  /** Of a Secret: its kubeconfig in base64. Absent: a Shoot, whose kubeconfig is requested. */
  readonly kubeconfig?: string
}

export interface Source {
  readonly cluster: TargetCluster
  readonly signal: AbortSignal
}

/** @throws SyncProblem; failures of the source. */
export async function sourceEntries(
  deps: LandscaperDeps,
  { namespace, spec }: { readonly namespace: string; readonly spec: TargetSync['spec'] },
  source: Source,
): Promise<readonly SourceEntry[]> {
  const { secretNameExpression: secrets = '', shootNameExpression: shoots = '' } = spec
  if (secrets !== '' && shoots !== '')
    throw new SyncProblem('spec: found secretNameExpression and shootNameExpression; expected one of them')
  const [expression, field, found] =
    shoots === ''
      ? ([secrets, 'secretNameExpression', secretsIn] as const)
      : ([shoots, 'shootNameExpression', shootsIn] as const)
  if (expression === '') return []
  const match = (names: readonly string[]) => namesLike(deps, namespace, { expression, field, names })
  return await matching(found(spec.sourceNamespace, source), match, field)
}

// E3
async function matching(
  candidates: AsyncIterable<SourceEntry>,
  match: (names: readonly string[]) => Promise<readonly string[]>,
  field: string,
): Promise<readonly SourceEntry[]> {
  const entries = new Map<string, SourceEntry>()
  let batch = new Map<string, SourceEntry>()
  const keepMatching = async () => {
    for (const name of await match([...batch.keys()])) {
      const entry = batch.get(name)
      if (entry !== undefined) entries.set(name, entry)
    }
    batch = new Map()
    if (entries.size > MOST_ENTRIES)
      throw new SyncProblem(`spec.${field}: found more than ${MOST_ENTRIES} names that match; expected at most so many`)
    if (sizeOf(entries) > MOST_BYTES)
      throw new SyncProblem(`spec.${field}: found more than 32 MiB of kubeconfigs; expected less in all`)
  }
  for await (const entry of candidates) {
    batch.set(entry.name, entry)
    if (batch.size >= BATCH_ENTRIES || sizeOf(batch) >= BATCH_BYTES) await keepMatching()
  }
  // Also without names, so that an invalid expression is reported.
  await keepMatching()
  return [...entries.values()]
}

function sizeOf(entries: ReadonlyMap<string, SourceEntry>): number {
  return [...entries.values()].reduce((bytes, { kubeconfig = '' }) => bytes + kubeconfig.length, 0)
}

async function* secretsIn(namespace: string, { cluster, signal }: Source): AsyncGenerator<SourceEntry> {
  const path = resourcePath(SECRETS, namespace)
  for await (const secret of listObjects(cluster.kube, path, {
    signal,
    tooMany: () => tooMany('Secrets', namespace),
  })) {
    const { name } = secret.metadata
    const data: unknown = entriesOf(secret)
    const kubeconfig = isEntries(data) && Object.hasOwn(data, KUBECONFIG_KEY) ? data[KUBECONFIG_KEY] : undefined
    // The name becomes part of paths and of Pawl's objects.
    if (isObjectName(name) && typeof kubeconfig === 'string') yield { name, kubeconfig }
  }
}

async function* shootsIn(namespace: string, { cluster, signal }: Source): AsyncGenerator<SourceEntry> {
  const path = resourcePath(shootResource, namespace)
  for await (const { metadata } of listObjects(cluster.kube, path, {
    signal,
    tooMany: () => tooMany('Shoots', namespace),
  }))
    if (isObjectName(metadata.name)) yield { name: metadata.name }
}

function isEntries(data: unknown): data is Readonly<Record<string, unknown>> {
  return typeof data === 'object' && data !== null
}

function tooMany(what: string, namespace: string): SyncProblem {
  return new SyncProblem(`spec.sourceNamespace: found too many ${what} in ${namespace}; expected fewer`)
}

// E1
const MATCHING = '{{ range .names }}{{ if mustRegexMatch $.expression . }}{{ . }}\n{{ end }}{{ end }}'

async function namesLike(
  { landscaper: { templates } }: LandscaperDeps,
  namespace: string,
  { expression, field, names }: { expression: string; field: string; names: readonly string[] },
): Promise<readonly string[]> {
  if (expression === '*') return names
  const binding = { expression, names: names.length === 0 ? [''] : names }
  const request = { engine: 'GoTemplate', name: field, template: MATCHING, files: {}, binding } as const
  try {
    const { output } = await templates.of(tenantOf(namespace)).render(request)
    return output.split('\n').filter((name) => name !== '')
  } catch (error) {
    if (!(error instanceof TemplateError) || error.code === 'TemplateCrashed') throw error
    // The names were validated, so a failure is due to the expression; exceeded limits have their own message.
    if (error.code !== 'TemplateFailed')
      throw new SyncProblem(`spec.${field}: found no answer which names match: ${error.message}`)
    const cut = expression.length > 100 ? `${expression.slice(0, 100)}...` : expression
    throw new SyncProblem(`spec.${field}: found ${JSON.stringify(cut)}; expected a regular expression (RE2), or *`)
  }
}
