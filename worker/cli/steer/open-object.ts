// Common parts of the commands that steer objects: they find the object at the API server, with the user's own
// permissions, run the command and print the result.

import type { Command } from 'commander'

import type { KubeClient, KubeObject, Resource } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { isNotFound } from '../../../activities/kube/kube-error.ts'
import {
  type GroupKind,
  groupKindOf,
  groupKindText,
  isSameGroupKind,
  type JobModeController,
  writeJson,
} from '../../../workflows/kit/index.ts'
import { plannedKinds, type NamedKind } from '../../plans/find-plans.ts'
import { builtInRegistry } from '../../server/registry.ts'
import { UsageError } from '../../server/usage-error.ts'
import { queryableKinds, objectNamed } from '../query/object-name.ts'
import { quotedName, singleLine } from '../query/format.ts'
import { missingInCluster } from '../missing-object.ts'
import { linesText, withWriteFlags, withReason } from '../options.ts'
import { withUserClient, userName, type UserFlags } from '../user.ts'
import { yamlText } from '../yaml-text.ts'

export type Steering = NonNullable<JobModeController['steering']>

export interface SteeredKind extends GroupKind {
  readonly api: Resource
  readonly steering: Steering
  readonly siblings: NonNullable<JobModeController['siblings']>
}

/** The object of a command, and the user with the reason. */
export interface TargetObject {
  readonly kube: KubeClient
  readonly kind: SteeredKind
  /** The object's kind and the other kinds of its group. */
  readonly kinds: readonly SteeredKind[]
  readonly namespace: string
  readonly name: string
  readonly object: KubeObject
  readonly user: string
  readonly reason: string | undefined
}

const FORMATS = ['text', 'json', 'yaml', 'name'] as const

export interface SteerFlags extends UserFlags {
  readonly reason?: string
  readonly output: (typeof FORMATS)[number]
}

/** The result as text and as data. */
export interface CommandResult {
  readonly lines: readonly string[]
  /** Next steps; for several objects each is printed once at the end. */
  readonly hints?: readonly string[]
  readonly data: object
  readonly exitCode?: number
}

export function withSteerFlags(command: Command): Command {
  return withFlags(command.argument('<object...>', 'the object, such as inst/shop'))
}

/** Adds the flags without the argument. */
export function withFlags(command: Command): Command {
  return withWriteFlags(withReason(command), FORMATS, "the object's namespace")
}

/**
 * Runs the command on the object and prints the result.
 *
 * @param partsOf selects parts of the object; the command then runs on each of them in turn. Results are printed even
 * if a later part fails.
 */
export async function runOnObject(
  words: readonly string[],
  flags: SteerFlags,
  act: (target: TargetObject) => Promise<CommandResult>,
  partsOf?: (target: TargetObject) => Promise<readonly TargetObject[]>,
): Promise<void> {
  const reason = reasonIn(flags.reason)
  const { kind, name } = findSteeredKind(words)
  await withUserClient(flags, async (kube, namespace) => {
    const object = await readObject(kube, kind, namespace, name)
    if (object === undefined) throw new Error(await missingInCluster(kube, kind, { namespace, name }))
    const kinds = steeredKinds().filter(({ group }) => group === kind.group)
    const user = await userName(kube)
    const target = { kube, kind, kinds, namespace, name, object, user, reason }
    await runOnAll(partsOf === undefined ? [target] : await partsOf(target), act, flags.output)
  })
}

async function runOnAll(
  all: readonly TargetObject[],
  act: (target: TargetObject) => Promise<CommandResult>,
  output: SteerFlags['output'],
): Promise<void> {
  const results: ObjectResult[] = []
  try {
    for (const target of all) results.push({ target: target, result: await act(target) })
    process.exitCode = Math.max(0, ...results.map(({ result }) => result.exitCode ?? 0))
  } finally {
    if (results.length > 0) process.stdout.write(await formatResults(results, output, all.length > 1))
  }
}

interface ObjectResult {
  readonly target: { readonly kind: Pick<SteeredKind, 'kind' | 'group'>; readonly name: string }
  readonly result: CommandResult
}

/** @param isList true to print a list, even for one result. */
export async function formatResults(
  results: readonly ObjectResult[],
  output: SteerFlags['output'],
  isList: boolean,
): Promise<string> {
  const data = isList ? results.map(({ result }) => result.data) : results[0]?.result.data
  switch (output) {
    case 'text': {
      const hints = new Set(results.flatMap(({ result }) => result.hints ?? []))
      const lines = [...results.flatMap(({ result }) => result.lines), ...hints]
      return linesText(lines)
    }
    case 'json':
      return `${writeJson(data, 2)}\n`
    case 'yaml':
      return await yamlText(data)
    case 'name':
      return results.map(({ target: { kind, name } }) => `${kind.kind.toLowerCase()}.${kind.group}/${name}\n`).join('')
  }
}

/** The kinds with jobs; their objects can be steered. */
export function steeredKinds(): readonly SteeredKind[] {
  return [...builtInRegistry.controllers.values()].flatMap((controller): readonly SteeredKind[] => {
    if (controller.mode !== 'job' || controller.steering === undefined) return []
    const { target, steering, siblings = {} } = controller
    return [
      { ...groupKindOf(target), api: { apiVersion: target.apiVersion, plural: target.plural }, steering, siblings },
    ]
  })
}

/** Finds a kind of Pawl's controllers, with or without jobs. @throws UsageError if the words do not name an object of such a kind. */
export function findControlledKind(words: readonly string[]): { readonly kind: NamedKind; readonly name: string } {
  const controlled = plannedKinds(builtInRegistry)
  const { kind, name } = objectNamed(words, queryableKinds(controlled, []))
  const found = controlled.find((one) => isSameGroupKind(one, kind))
  if (found === undefined) throw new Error(`kind "${groupKindText(kind)}" has no controller`)
  return { kind: found, name }
}

/** @throws UsageError if the words do not name an object of a kind with jobs. */
export function findSteeredKind(words: readonly string[]): { readonly kind: SteeredKind; readonly name: string } {
  const { kind, name } = findJobKind(words)
  const target = steeredKinds()
  const found = target.find((one) => one.group === kind.group && one.kind === kind.kind)
  if (found === undefined)
    throw new UsageError(`kind "${kind.kind}" has no jobs; expected ${target.map((one) => one.kind).join(' or ')}`)
  return { kind: found, name }
}

/** A command does not have the controllers of users; their objects are in level mode. */
function findJobKind(words: readonly string[]): ReturnType<typeof findControlledKind> {
  try {
    return findControlledKind(words)
  } catch (error) {
    if (!(error instanceof UsageError) || !/ does not exist; expected /.test(error.message)) throw error
    const object = singleLine(words.join(' ').replace('/', ' '), 200)
    throw new UsageError(
      `${error.message}; objects in level mode have no jobs: a change of the object starts the next pass, such as kubectl annotate ${object} example.com/touch="$(date +%s)" --overwrite`,
    )
  }
}

export async function readObject(
  kube: Pick<KubeClient, 'request'>,
  { api }: SteeredKind,
  namespace: string,
  name: string,
): Promise<KubeObject | undefined> {
  try {
    return await kube.request<KubeObject>('GET', resourcePath(api, namespace, name))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

const LONGEST_REASON = 256

/** @throws UsageError unless the reason is one line. */
export function reasonIn(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const reason = text.trim()
  if (reason === '' || reason.length > LONGEST_REASON || singleLine(reason) !== reason)
    throw new UsageError(
      `--reason: found ${reason.length} characters; expected one line of 1 to ${LONGEST_REASON} characters`,
    )
  return reason
}

/** The object's words and the namespace for suggested commands: `installation/shop -n team-a`. */
export function objectWords({
  kind,
  namespace,
  name,
}: {
  readonly kind: { readonly kind: string }
  readonly namespace: string
  readonly name: string
}): string {
  return `${kind.kind.toLowerCase()}/${name} -n ${namespace}`
}

/** The object in messages: `installation "team-a/shop"`. */
export function titleOf({
  kind,
  namespace,
  name,
}: Pick<TargetObject, 'namespace' | 'name'> & { readonly kind: { readonly kind: string } }): string {
  return quotedName({ kind: kind.kind, namespace, name })
}
