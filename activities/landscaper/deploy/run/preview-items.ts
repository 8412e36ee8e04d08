// Previews items for `pawl plan -f`: the first step of their deployers, with dry-run requests to the target. Items of other programs' types are listed
// as unknown.

import {
  JOB_ID_LABEL,
  PREVIOUS_VALUE_ANNOTATION,
  RECONCILE_TIME_ANNOTATION,
  RENDERED_FROM_ANNOTATION,
  VALUE_SOURCE_ANNOTATION,
} from '../../../../workflows/landscaper/contract.ts'
import { type DeployItem, deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { dryRun, type DryRun } from '../../../kube/dry-run.ts'
import { KubeError } from '../../../kube/errors.ts'
import { inParallel } from '../../../kube/in-parallel.ts'
import { readObject } from '../../../kube/read-family.ts'
import type { ItemPreview, Preview } from '../../../run/preview.ts'
import { dataOf } from '../../tenant-call.ts'
import type { LandscaperDeps } from '../../deps.ts'
import type { TargetCluster } from '../target/target-cluster.ts'
import { type Deployer, DeployError, isQuick } from './deployer.ts'
import { targetNameOf } from './item-targets.ts'

const MAX_PARALLEL = 8
/** A cluster that does not answer within this time is reported. */
const MAX_CALL_MS = 20_000

/** @param others the parts of the preview that do not belong to items. */
export function previewOf(
  deps: LandscaperDeps,
  deployers: readonly Deployer[],
  others: Pick<Preview, 'importersOf' | 'internal'>,
): Preview {
  return {
    incidental: [
      `metadata.annotations.${RECONCILE_TIME_ANNOTATION}`,
      `metadata.annotations.${RENDERED_FROM_ANNOTATION}`,
      `metadata.annotations.${VALUE_SOURCE_ANNOTATION}`,
      `metadata.annotations.${PREVIOUS_VALUE_ANNOTATION}`,
      `metadata.labels.${JOB_ID_LABEL}`,
      'status',
    ],
    internalOfChildren: { Execution: ['spec'], DataObject: ['data'], Target: ['spec'], Secret: ['data', 'type'] },
    concealed: { Secret: ['data', 'stringData'], DataObject: ['data'], Target: ['spec.config'] },
    ...others,
    foreseeItems: async (namespace, names) =>
      await inParallel(names, MAX_PARALLEL, async (name) => await previewItem(deps, deployers, { namespace, name })),
  }
}

interface Named {
  readonly namespace: string
  readonly name: string
}

async function previewItem(
  deps: LandscaperDeps,
  deployers: readonly Deployer[],
  { namespace, name }: Named,
): Promise<ItemPreview> {
  const item = await readObject(deps, deployItemKind, namespace, name)
  if (item === undefined) return { name, unknown: 'it does not exist', writes: [] }
  const deployer = deployers.find(({ type }) => type === item.spec.type)
  if (deployer === undefined)
    return { name, unhandled: { type: item.spec.type, handled: deployers.map(({ type }) => type).sort() }, writes: [] }
  const targets: DryRun[] = []
  try {
    const problem = await problemOf(deps, deployer, { item, targets })
    return { name, ...(problem !== undefined && { problem }), ...wouldWrite(item, targets) }
  } catch (error) {
    if (error instanceof DeployError && error.isFinal)
      return { name, problem: errorText(error), ...wouldWrite(item, targets) }
    if (error instanceof DeployError || error instanceof KubeError || isTimeout(error))
      return { name, unknown: `Pawl could not read its target: ${errorText(error)}`, ...wouldWrite(item, targets) }
    throw error
  }
}

function wouldWrite({ spec }: DeployItem, targets: readonly DryRun[]): Pick<ItemPreview, 'target' | 'writes'> {
  const writes = targets.flatMap((one) => one.writes())
  return { ...(spec.target !== undefined && { target: spec.target.name }), writes }
}

interface ItemDryRun {
  readonly item: DeployItem
  /** The targets that the preview opened. */
  readonly targets: DryRun[]
}

/** The error that the first step would return; undefined without an error. */
async function problemOf(
  deps: LandscaperDeps,
  deployer: Deployer,
  { item, targets }: ItemDryRun,
): Promise<string | undefined> {
  const { namespace } = item.metadata
  const config = deployer.parse(item)
  if (isQuick(deployer)) {
    const { phase, error } = deployer.answer(item, config)
    return error === undefined ? undefined : `${phase}: ${error.message}`
  }
  const signal = AbortSignal.timeout(MAX_CALL_MS)
  const openTarget = async (target: string): Promise<TargetCluster> => {
    const cluster = await deps.landscaper.targets.open(namespace, target, signal)
    const dry = dryRun(cluster.kube)
    targets.push(dry)
    return {
      kube: dry.client,
      servedKind: async (apiVersion, kind, stop) => await cluster.servedKind(apiVersion, kind, stop),
      forgetKinds: (apiVersion) => cluster.forgetKinds(apiVersion),
    }
  }
  // The preview is of the next job, not of the job in the status.
  const next = { ...item, status: { ...item.status, jobID: '' } }
  const work = { item: next, openTarget, data: dataOf(deps, { namespace }), signal }
  const step = deployer.needsTarget
    ? await deployer.install({ ...work, target: await openTarget(targetNameOf(item)) }, config)
    : await deployer.install(work, config)
  return step.result === 'failed' ? errorText(step.error) : undefined
}

function errorText(error: unknown): string {
  if (error instanceof DeployError) return `${error.reason}: ${error.message}`
  return error instanceof Error ? error.message : String(error)
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')
}
