// Performs histories of edits (edits.ts) on a cluster, like users who never wait longer than necessary.

import { setTimeout as sleep } from 'node:timers/promises'

import { isConflict, isNotFound, KubeError } from '../../../activities/kube/errors.ts'
import { blueprintOf, type Cluster, installation, item, type LsObject, OPERATION } from '../cluster/cluster.ts'
import { dataObject, secret, target } from '../landscaper/imports.ts'
import { configMap, createTarget, MANIFEST_TYPE, manifestItem, TARGET_TYPE } from '../landscaper/manifests.ts'
import { exportingData, sub, subsOf } from '../landscaper/sub-installations.ts'
import { type Edit, edited, type EditedItem, type EditedSpec, FIRST, healed } from './edits.ts'

export const PLANTED = 'planted-3e90ab51c4'
const SPARE_TYPE = 'example.org/cluster'
const WITHOUT_UNINSTALL = 'landscaper.gardener.cloud/delete-without-uninstall'
const JOB_MS = 90_000
const WAIT_MS = 5_000

/** Creates the objects that all Installations of the test import. */
export async function plant(cluster: Cluster): Promise<void> {
  await createTarget(cluster)
  await cluster.create(secret('given', { password: PLANTED }), 'secrets')
  await cluster.create(target('spare', { type: SPARE_TYPE, config: { kubeconfig: PLANTED } }), 'targets')
}

/** The template of an item whose configuration contains the imports. */
function template(
  name: string,
  cluster: Cluster,
  itemName: string,
  { type, dependsOn, value, way }: EditedItem,
): object {
  const shown = { value: String(value), imported: '{{ .imports.value }}', password: '{{ .imports.password }}' }
  if (type === 'manifest') {
    const manifests = [configMap(`${name}-${itemName}`, cluster.namespace, shown)]
    return { ...manifestItem({ name: itemName, dependsOn, manifests }), target: { import: 'cluster' } }
  }
  const outcome = { well: {}, failing: { phase: 'Failed' }, held: { initialPhase: 'Progressing' } }[way]
  return item({ name: itemName, dependsOn, config: { ...outcome, export: shown } })
}

/** The Installation object of a specification. */
function objectOf(cluster: Cluster, name: string, { items, part, isAutomatic, spoiled }: EditedSpec) {
  const list = Object.entries(items).map(([itemName, one]) => template(name, cluster, itemName, one))
  const deployItems = spoiled === 'twin' ? [...list, ...list] : list
  const text = `${spoiled === 'template' ? '{{ fail "spoiled" }}' : ''}${JSON.stringify({ deployItems })}`
  const blueprint = blueprintOf([], {
    imports: [...IMPORTS, { name: 'spare', type: 'target', targetType: SPARE_TYPE }],
    subinstallations: part === undefined ? [] : [partOf(cluster, name, part)],
    deployExecutions: [{ name: 'items', type: 'GoTemplate', template: text }],
    ...exportingData('out', '{{ toJson (default dict .values.deployitems) }}'),
  })
  const spec = {
    imports: {
      data: [
        { name: 'value', dataRef: spoiled === 'import' ? 'nowhere' : `${name}-value` },
        { name: 'password', secretRef: { name: 'given', key: 'password' } },
      ],
      targets: [
        { name: 'cluster', target: 'here' },
        { name: 'spare', target: 'spare' },
      ],
    },
    exports: { data: [{ name: 'out', dataRef: `${name}-out` }] },
    automaticReconcile: isAutomatic === true ? BY_THEMSELVES : null,
  }
  return installation(name, [], { spec, blueprint, triggered: false })
}

const IMPORTS = [
  { name: 'value', type: 'data', schema: { type: 'integer' } },
  { name: 'password', type: 'data', schema: { type: 'string' } },
  { name: 'cluster', type: 'target', targetType: TARGET_TYPE },
]
const PART = 'part'
const BY_THEMSELVES = { succeededReconcile: { interval: '1s' }, failedReconcile: { interval: '1s' } }

/** The template of a sub-installation with one item. */
function partOf(cluster: Cluster, name: string, part: NonNullable<EditedSpec['part']>): object {
  const one = template(`${name}-${PART}`, cluster, PART, { ...part, dependsOn: [] })
  const items = { name: 'items', type: 'GoTemplate', template: JSON.stringify({ deployItems: [one] }) }
  return sub(PART, {
    blueprint: { imports: IMPORTS, deployExecutions: [items] },
    imports: {
      data: ['value', 'password'].map((data) => ({ name: data, dataRef: data })),
      targets: [{ name: 'cluster', target: 'cluster' }],
    },
  })
}

/** Creates the Installation and waits until its job ends. */
export async function fresh(cluster: Cluster, name: string, spec: EditedSpec): Promise<LsObject> {
  await cluster.create(dataObject(`${name}-value`, spec.imported), 'dataobjects')
  await cluster.create(objectOf(cluster, name, spec), 'installations')
  await cluster.trigger(name)
  return await cluster.waitUntilFinished(name, undefined, 'installations', JOB_MS)
}

/** Performs the history, fixes its mistakes and runs a last job. @returns the final specification and Installation. */
export async function played(cluster: Cluster, name: string, history: readonly Edit[]) {
  await cluster.create(dataObject(`${name}-value`, FIRST.imported), 'dataobjects')
  await cluster.create(objectOf(cluster, name, FIRST), 'installations')
  await cluster.trigger(name)
  let spec = FIRST
  for (const edit of history) {
    spec = edited(spec, edit)
    await perform(cluster, name, spec, edit)
    if (edit.triggered) await ifThere(() => cluster.trigger(name))
  }
  return await mended(cluster, name, healed(spec))
}

async function perform(cluster: Cluster, name: string, spec: EditedSpec, edit: Edit): Promise<void> {
  switch (edit.do) {
    case 'import':
      await cluster.patch('dataobjects', `${name}-value`, { data: edit.value })
      return
    case 'touch part':
      await touchPart(cluster, name, edit.how)
      return
    case 'annotate': {
      const metadata = { annotations: { [OPERATION]: edit.operation } }
      await ifThere(() => cluster.patch(edit.plural, name, { metadata }))
      return
    }
    case 'delete': {
      const object = await objectName(cluster, name, edit)
      await ifThere(() => cluster.delete(edit.plural, object))
      return
    }
    case 'write status': {
      const object = await objectName(cluster, name, edit)
      await ifThere(() => cluster.patch(edit.plural, object, { status: edit.status }, 'status'))
      return
    }
    case 'wait':
      await idle(cluster, name)
      return
    default:
      await apply(cluster, name, spec)
  }
}

async function touchPart(cluster: Cluster, name: string, how: 'delete' | 'reconcile' | 'interrupt'): Promise<void> {
  const part = (await subsOf(cluster, name)).get(PART)?.metadata.name
  if (part === undefined) return
  if (how === 'delete') await ifThere(() => cluster.delete('installations', part))
  else await ifThere(() => cluster.patch('installations', part, { metadata: { annotations: { [OPERATION]: how } } }))
}

async function objectName(cluster: Cluster, name: string, edit: { readonly plural: string; readonly name: string }) {
  if (edit.plural !== 'deployitems') return name
  return (await cluster.items(name)).get(edit.name)?.metadata.name ?? 'nobody'
}

/** Writes the specification; recreates the Installation if it is gone. */
async function apply(cluster: Cluster, name: string, spec: EditedSpec): Promise<void> {
  const object = objectOf(cluster, name, spec)
  const there = await ifThere(() => cluster.patch('installations', name, { spec: object.spec }))
  if (there === undefined) await cluster.create(object, 'installations')
}

/** Waits until no job runs, for at most `WAIT_MS`, because jobs with held items do not end. */
async function idle(cluster: Cluster, name: string): Promise<void> {
  const deadline = Date.now() + WAIT_MS
  while (Date.now() < deadline) {
    const object = await cluster.get('installations', name)
    const { jobID, jobIDFinished } = object?.status ?? {}
    if (object === undefined || (jobID === jobIDFinished && object.metadata.annotations?.[OPERATION] === undefined))
      return
    await sleep(50)
  }
}

/** Ends each job that may wait forever, writes the fixed specification like a user, and runs another job. */
async function mended(cluster: Cluster, name: string, wanted: EditedSpec) {
  // Automatic reconciles would start further jobs while the test ends them.
  await ifThere(() => cluster.patch('installations', name, { spec: { automaticReconcile: null } }))
  const left = await jobsEnded(cluster, name)
  if (left?.metadata.deletionTimestamp !== undefined) {
    await letGo(cluster, name)
  }
  const spec = await withTypes(cluster, name, wanted)
  await apply(cluster, name, spec)
  const root = await nextJob(cluster, name)
  return { spec, root: (await isExecutionStuck(cluster, name)) ? await letExecutionGo(cluster, name) : root }
}

async function nextJob(cluster: Cluster, name: string): Promise<LsObject> {
  const before = (await cluster.get('installations', name))?.status?.jobID
  await cluster.trigger(name)
  return await cluster.waitUntilFinished(name, before, 'installations', JOB_MS)
}

/** Whether the Execution was deleted by hand and its items depend on each other, so that it cannot uninstall them. */
async function isExecutionStuck(cluster: Cluster, name: string): Promise<boolean> {
  const { metadata, status } = (await cluster.get('executions', name)) ?? {}
  return metadata?.deletionTimestamp !== undefined && status?.lastError?.message.includes(WITHOUT_UNINSTALL) === true
}

/** Sets the annotation that the error names, and deletes the remaining objects by hand. */
async function letExecutionGo(cluster: Cluster, name: string): Promise<LsObject> {
  const metadata = { annotations: { [WITHOUT_UNINSTALL]: 'true' } }
  await ifThere(() => cluster.patch('executions', name, { metadata }))
  await nextJob(cluster, name)
  await removeDeployed(cluster, name)
  return await nextJob(cluster, name)
}

/**
 * Continues the deletion. If the items depend on each other, Pawl cannot uninstall them: sets the annotation that the
 * error names, and deletes the remaining objects by hand.
 */
async function letGo(cluster: Cluster, name: string): Promise<void> {
  await ifThere(() => cluster.trigger(name))
  const isDecided = (object?: LsObject) => {
    const { jobID, jobIDFinished, phase } = object?.status ?? {}
    const isAsked = object?.metadata.annotations?.[OPERATION] === 'reconcile'
    return object === undefined || (!isAsked && jobID === jobIDFinished && phase === 'DeleteFailed')
  }
  const found = (await cluster.waitUntil('installations', name, isDecided, JOB_MS)) as LsObject | undefined
  if (found === undefined) return
  if (found.status?.lastError?.message.includes(WITHOUT_UNINSTALL) !== true)
    throw new Error(`${name} cannot be deleted: ${JSON.stringify(found.status)}; expected words on what to do`)
  const metadata = { annotations: { [WITHOUT_UNINSTALL]: 'true', [OPERATION]: 'reconcile' } }
  await ifThere(() => cluster.patch('installations', name, { metadata }))
  await cluster.waitUntilGone(name, 'installations', JOB_MS)
  await removeDeployed(cluster, name)
}

async function removeDeployed(cluster: Cluster, name: string): Promise<void> {
  const left = (await cluster.list('configmaps', 'v1')).filter((one) => one.metadata.name.startsWith(`${name}-`))
  const path = `/api/v1/namespaces/${cluster.namespace}/configmaps`
  for (const one of left) await cluster.kube.request('DELETE', `${path}/${one.metadata.name}`)
}

/** Interrupts until no job runs and no reconcile annotation exists. @returns the Installation, if it exists. */
async function jobsEnded(cluster: Cluster, name: string): Promise<LsObject | undefined> {
  const interrupted = new Set<string>()
  const isOver = (object?: LsObject) => {
    const { jobID, jobIDFinished } = object?.status ?? {}
    return jobID === jobIDFinished && object?.metadata.annotations?.[OPERATION] !== 'reconcile'
  }
  const isNext = (object?: LsObject) => isOver(object) || !interrupted.has(object?.status?.jobID ?? '')
  for (;;) {
    const object = (await cluster.waitUntil('installations', name, isNext, JOB_MS)) as LsObject | undefined
    if (isOver(object)) return object
    interrupted.add(object?.status?.jobID ?? '')
    const metadata = { annotations: { [OPERATION]: 'interrupt' } }
    if (object?.status?.jobID !== object?.status?.jobIDFinished)
      await ifThere(() => cluster.patch('installations', name, { metadata }))
  }
}

/** Restores the types of existing items, because the type of an item cannot be changed. */
async function withTypes(cluster: Cluster, name: string, spec: EditedSpec): Promise<EditedSpec> {
  const live = await cluster.items(name)
  const typed = Object.entries(spec.items).map(([itemName, one]): [string, EditedItem] => {
    return [itemName, { ...one, type: typeOf(live.get(itemName)) ?? one.type }]
  })
  return {
    ...spec,
    items: Object.fromEntries(typed),
    part: spec.part && (await withPartType(cluster, name, spec.part)),
  }
}

async function withPartType<Part extends NonNullable<EditedSpec['part']>>(cluster: Cluster, name: string, part: Part) {
  const there = (await subsOf(cluster, name)).get(PART)?.metadata.name
  const live = there === undefined ? undefined : (await cluster.items(there)).get(PART)
  return { ...part, type: typeOf(live) ?? part.type }
}

function typeOf(live: LsObject | undefined): EditedItem['type'] | undefined {
  const type = live?.spec?.['type']
  if (type === undefined) return undefined
  return type === MANIFEST_TYPE ? 'manifest' : 'mock'
}

/** Undefined if the object is missing, or if the API server rejects the write with a conflict or as invalid. */
async function ifThere<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act()
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return undefined
    if (error instanceof KubeError && error.status === 422) return undefined
    throw error
  }
}
