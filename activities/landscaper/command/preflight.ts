// `pawl doctor --landscaper`: reads the objects of a cluster that Landscaper manages, and lists what Pawl does not support or does differently, per
// Installation.
//
//   F1. It only reads, with the user's permissions. A kind that the user may not list is named as not checked.
//   F2. A deploy item belongs to the Installation of its Execution. A Target or Context belongs to each Installation that names it.

import type { CommandDone, CommandStart } from '../../command.ts'
import type { KubeObject } from '../../kube/client.ts'
import { KubeError } from '../../kube/kube-error.ts'
import { readAll } from '../../kube/pages.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import { fieldsOf, listOf, textOf } from '../../../workflows/kit/index.ts'
import {
  clusterDifferences,
  contextDifferences,
  type Effect,
  type FoundDifference,
  installationDifferences,
  itemDifferences,
  targetDifferences,
  titleOf,
} from './differences.ts'

const GROUP = 'landscaper.gardener.cloud/v1alpha1'
const PAGE = 500
const PAGE_OF_DIFFERENCES = 'docs/reference/landscaper-differences.md'

const KINDS = {
  installations: { apiVersion: GROUP, kind: 'Installation' },
  executions: { apiVersion: GROUP, kind: 'Execution' },
  deployitems: { apiVersion: GROUP, kind: 'DeployItem' },
  targets: { apiVersion: GROUP, kind: 'Target' },
  contexts: { apiVersion: GROUP, kind: 'Context' },
  targetsyncs: { apiVersion: GROUP, kind: 'TargetSync' },
  lshealthchecks: { apiVersion: GROUP, kind: 'LsHealthCheck' },
  validatingwebhookconfigurations: {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    isClusterScoped: true,
  },
} as const
type Plural = keyof typeof KINDS

interface CheckedInstallation {
  readonly installation: string
  readonly differences: readonly FoundDifference[]
}

export async function run({ kube, given, namespace }: CommandStart): Promise<CommandDone> {
  const place = given['all-namespaces'] === true ? undefined : namespace
  const { objects, unchecked } = await readObjects(kube, place)
  const installations = checkInstallations(objects)
  const cluster = clusterDifferences({
    items: objects.deployitems,
    contexts: objects.contexts,
    targetSyncs: objects.targetsyncs,
    healthChecks: objects.lshealthchecks,
    webhooks: objects.validatingwebhookconfigurations,
  })
  const hasUnsupported = installations.some((one) => has(one, 'unsupported'))
  return {
    lines: reportLines({ installations, cluster, unchecked, place }),
    data: { namespace: place ?? null, installations, cluster, unchecked },
    exitCode: hasUnsupported || unchecked.length > 0 ? 1 : 0,
  }
}

type Objects = Readonly<Record<Plural, readonly KubeObject[]>>

/** F1 @throws KubeError if the installations cannot be listed, and for errors other than a missing permission or a missing kind. */
async function readObjects(kube: CommandStart['kube'], place: string | undefined) {
  const unchecked: string[] = []
  const entries: (readonly [string, readonly KubeObject[]])[] = []
  for (const [plural, { apiVersion, kind, ...scope }] of Object.entries(KINDS)) {
    const path = resourcePath({ apiVersion, plural }, 'isClusterScoped' in scope ? undefined : place)
    const objects = await readAll(kube, path, { limit: PAGE }).catch((error: unknown) => {
      const isOptional = plural !== 'installations' && error instanceof KubeError
      if (!isOptional || (error.status !== 403 && error.status !== 404)) throw error
      if (error.status === 403) unchecked.push(plural)
      return []
    })
    // Lists of an API server do not repeat the kind in each object.
    entries.push([plural, objects.map((object) => ({ ...object, kind }))])
  }
  return { objects: Object.fromEntries(entries) as Objects, unchecked }
}

/** F2 */
function checkInstallations(objects: Objects): readonly CheckedInstallation[] {
  const executionOwners = new Map(objects.executions.map((one) => [one.metadata.uid, ownersOf(one)]))
  return objects.installations.map((installation) => {
    const { uid = '', namespace } = installation.metadata
    const items = objects.deployitems.filter((item) =>
      ownersOf(item).some((owner) => owner === uid || executionOwners.get(owner)?.includes(uid) === true),
    )
    const spec = fieldsOf(installation['spec'])
    const imports = listOf(fieldsOf(spec['imports'])['targets']).map((one) => textOf(fieldsOf(one)['target']))
    const ofItems = items.map((item) => textOf(fieldsOf(fieldsOf(item['spec'])['target'])['name']))
    const targets = named(objects.targets, namespace, [...imports, ...ofItems])
    const contexts = named(objects.contexts, namespace, [textOf(spec['context']) || 'default'])
    return {
      installation: titleOf(installation),
      differences: [
        ...installationDifferences(installation),
        ...items.flatMap(itemDifferences),
        ...targets.flatMap(targetDifferences),
        ...contexts.flatMap(contextDifferences),
      ],
    }
  })
}

function ownersOf({ metadata }: KubeObject): readonly string[] {
  return (metadata.ownerReferences ?? []).map(({ uid }) => uid)
}

function named(objects: readonly KubeObject[], namespace: string | undefined, names: readonly string[]) {
  const wanted = new Set(names)
  return objects.filter(({ metadata }) => metadata.namespace === namespace && wanted.has(metadata.name))
}

function has({ differences }: CheckedInstallation, effect: Effect): boolean {
  return differences.some((one) => one.effect === effect)
}

interface Report {
  readonly installations: readonly CheckedInstallation[]
  readonly cluster: readonly FoundDifference[]
  readonly unchecked: readonly string[]
  readonly place: string | undefined
}

const MARKS: Readonly<Record<Effect, string>> = { unsupported: 'not supported', different: 'different', wait: 'first' }

function reportLines({ installations, cluster, unchecked, place }: Report): readonly string[] {
  const withDifferences = installations.filter(({ differences }) => differences.length > 0)
  const line = ({ effect, object, text }: FoundDifference, own: string | undefined) =>
    `  ${MARKS[effect]}: ${object === own ? '' : `${object}: `}${text}`
  return [
    `${summary(installations, place)}${unchecked.length === 0 ? '' : '; some kinds are not checked'}`,
    ...unchecked.map((plural) => `not checked: ${plural}; you need the permission to list them`),
    ...withDifferences.flatMap(({ installation, differences }) => [
      installation,
      ...differences.map((one) => line(one, installation)),
    ]),
    ...(cluster.length === 0 ? [] : ['for all Installations', ...cluster.map((one) => line(one, undefined))]),
    `Blueprints, Secrets and registries are not checked; all differences: ${PAGE_OF_DIFFERENCES}`,
  ]
}

function summary(installations: readonly CheckedInstallation[], place: string | undefined): string {
  const where = place === undefined ? 'the cluster' : `namespace "${place}"`
  const count = installations.length
  if (count === 0) return `${where} has no Installation`
  const unsupported = installations.filter((one) => has(one, 'unsupported'))
  const different = installations.filter((one) => has(one, 'different') && !has(one, 'unsupported'))
  const rest = count - unsupported.length - different.length
  const all = `${count} Installation${count === 1 ? '' : 's'} in ${where}`
  if (rest === count) return `${all}: no known differences between Landscaper and Pawl`
  const parts = [
    [unsupported.length, 'with parts that Pawl does not support'],
    [different.length, 'with parts that Pawl handles differently'],
    [rest, 'without known differences'],
  ] as const
  return `${all}: ${parts
    .filter(([some]) => some > 0)
    .map(([some, text]) => `${some} ${text}`)
    .join(', ')}`
}
