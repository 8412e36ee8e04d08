// The phase Completing: verifies that the imports have not changed during the job, and writes the exports. Source: spec/landscaper.md 2.3
// "Completing", 3.4, 3.6.

import { dataObjectKind } from '../../../workflows/landscaper/data-object/kind.ts'
import {
  EXPORTS_CONDITION,
  type Installation,
  installationKind,
} from '../../../workflows/landscaper/installation/kind.ts'
import type { By, JsonValue, Subject } from '../../../workflows/kit/index.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'
import { type DataToWrite, writeDataObjects, labelValue } from '../data-objects.ts'
import { finalFailure } from '../../kube/errors.ts'
import { isWrittenByOthers } from '../../kube/managed-fields.ts'
import { ownerReference, isOnlyOwnedBy } from '../../kube/owners.ts'
import { readObject, listFromServer } from '../../kube/read-family.ts'
import { type Writer, type Write, writeAll } from '../../kube/write.ts'
import { forNamespace } from '../tenant-call.ts'
import type { LandscaperDeps } from '../deps.ts'
import { reportFurtherDocuments } from '../further-documents.ts'
import { requestDependentJobs } from './dependents.ts'
import type { Blueprint } from '../render/blueprint/blueprint.ts'
import { finishExports } from '../render/exports.ts'
import { renderExports, type ExportBindings } from '../render/executions.ts'
import type { ExecutionStates } from '../render/executor.ts'
import {
  dataLabels,
  dataObjectName,
  executionContext,
  installationContext,
  surroundingContext,
} from '../render/names.ts'
import type { Fields } from '../render/field-reader.ts'
import { withCondition } from './author-faults.ts'
import { exportsWithin } from './exports-within.ts'
import { type Parent, parentOf } from './parent.ts'
import { buildImports, type InstallationImports, loadImports } from './imports.ts'
import { blueprintOf } from './installation-blueprint.ts'
import { importCopies, removeStaleCopies } from './import-copies.ts'
import { readInstallation, userMistake } from './read-installation.ts'
import { checkSpec, type InstallationSpec } from './spec.ts'
import { loadStates, stateSecrets } from './states.ts'
import { SOURCE_LABEL, SOURCE_TYPE_LABEL } from '../../../workflows/landscaper/contract.ts'
import type { ComingEnd } from '../../deps.ts'

export interface ExportInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly generation: number
  /** The hash at the end of Init; if this job imported nothing, the hash of the last job with imports. */
  readonly importsHash?: string | undefined
  /** Whether the Execution of this job has exports; its status may be older. */
  readonly hasItemExports: boolean
  /** Whether sub-installations may have exports; absent: no. */
  readonly hasSubInstallations?: boolean
  /** The job succeeds after this call: request jobs of the dependents (dependents.ts). */
  readonly asksDependents?: boolean
}

/** The fields of an exported target, with at most one of `config` and `secretRef`. Source: spec/landscaper.md 1.5, 5.3. */
interface ExportedTarget {
  readonly type: string
  readonly config?: unknown
  readonly secretRef?: unknown
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export const exportActivities = (all: LandscaperDeps) => ({
  /**
   * Verifies the imports, deletes stale import copies, renders the export executions, and writes the objects of `spec.exports`. Idempotent: one write
   * per object that differs.
   *
   * @returns whether the job imports anything, so that copies may exist.
   * @throws final failures: `CheckImportsHash`, `ImportNotFound`, `ExportNotProduced`, `SchemaValidationFailed`, `ExportConflict`, template errors.
   */
  async writeExports(input: ExportInput): Promise<{ imports: boolean }> {
    const deps = forNamespace(all, input.subject.namespace, input)
    try {
      const installation = await readInstallation(deps, input)
      const spec = installation.spec
      checkSpec(installation)
      const blueprint = await blueprintOf(deps, installation, input.jobID)
      const imports = await unchangedImports(deps, input, installation, blueprint)
      const writer = { ...input.by, step: 'writeExports', fieldManager: 'pawl-installation' }
      if (input.importsHash !== undefined) {
        await removeStaleCopies(deps, writer, input.subject, importCopies(input.subject, input.jobID, imports, spec))
      }
      await withCondition(DATA_REFUSED, async () => {
        const produced = await renderRequested(deps, input, { spec, blueprint, imports })
        if (produced !== undefined)
          await writeExportObjects(deps, writer, input, { spec, parent: parentOf(installation), produced })
      })
      if (input.asksDependents === true) await requestDependentJobs(deps, input, installation)
      return { imports: imports.hash !== undefined }
    } catch (error) {
      throw userMistake(error)
    } finally {
      await reportFurtherDocuments(deps, { ...input, apiVersion: installationKind.apiVersion })
    }
  },
})

const DATA_REFUSED = { type: EXPORTS_CONDITION, reason: 'CreateDataObjects' }
const TARGETS_REFUSED = { type: EXPORTS_CONDITION, reason: 'CreateTargets' }

// Items and exports of one job must come from the same imports. Source: spec/landscaper.md 2.3 "Completing" 2. A hash written by another engine
// cannot be compared, because it is computed in another way.
async function unchangedImports(
  deps: LandscaperDeps,
  { importsHash }: ExportInput,
  installation: Installation,
  blueprint: Blueprint,
): Promise<InstallationImports> {
  const given = await loadImports(deps, installation)
  if (given.count > 0 && given.hash !== importsHash && !isHashOfOthers(installation, importsHash)) {
    throw finalFailure('CheckImportsHash', 'the imports changed during the job; start another job')
  }
  return await buildImports(deps, installation, blueprint, given)
}

function isHashOfOthers(installation: Installation, importsHash: string | undefined): boolean {
  return installation.status?.importsHash === importsHash && isWrittenByOthers(installation, 'importsHash')
}

interface RenderInput {
  readonly spec: InstallationSpec
  readonly blueprint: Blueprint
  readonly imports: InstallationImports
}

interface ExportValues {
  /** By the export names of the Installation. */
  readonly exports: Readonly<Record<string, unknown>>
  readonly states: { readonly loaded: ExecutionStates; readonly rendered: ExecutionStates }
}

/** Renders the exports of `spec.exports` without writing them; undefined without exports. */
async function renderRequested(
  deps: LandscaperDeps,
  { by, subject, hasItemExports, hasSubInstallations }: ExportInput,
  { spec, blueprint, imports }: RenderInput,
): Promise<ExportValues | undefined> {
  const { data = [], targets = [] } = spec.exports ?? {}
  const requested = [...data, ...targets].map(({ name }) => name)
  if (requested.length === 0) return undefined
  const loaded = await loadStates(deps, subject, 'export', blueprint.exportExecutions)
  const { exports: produced, states: rendered } = await renderExports(deps.landscaper.templates, blueprint, {
    blueprint: spec.blueprint,
    imports: imports.bindings,
    deployitems: hasItemExports ? await readItemExports(deps, subject) : {},
    ...mergeScopes(imports, hasSubInstallations === true ? await exportsWithin(deps, by, subject) : NO_EXPORTS),
    states: loaded,
  })
  const mappings = spec.exportDataMappings ?? {}
  const exports = await finishExports(deps.landscaper.templates, blueprint, { produced, mappings, requested })
  return { exports, states: { loaded, rendered } }
}

interface Publication {
  readonly spec: InstallationSpec
  readonly parent: Parent | undefined
  readonly produced: ExportValues
}

async function writeExportObjects(
  deps: LandscaperDeps,
  writer: Writer,
  { subject, jobID }: ExportInput,
  { spec, parent, produced: { exports, states } }: Publication,
): Promise<void> {
  const { data = [], targets = [] } = spec.exports ?? {}
  const context = surroundingContext(parent?.name)
  const common = { namespace: subject.namespace, owner: ownerReference(installationKind, subject), jobID }
  const place = (key: string) => nameAndLabels({ subject, jobID, context }, key)
  await writeDataObjects(
    deps,
    writer,
    stateSecrets(subject, jobID, 'export', states),
    {
      ...common,
      watched: dataObjectKind,
      condition: DATA_REFUSED,
      objects: data.map(({ name, dataRef }) => ({ ...place(dataRef), content: { data: exports[name] } })),
    },
    {
      ...common,
      watched: targetKind,
      condition: TARGETS_REFUSED,
      objects: targets.map(({ name, target = '' }) =>
        withTarget(place(target), targetContent(deps, name, exports[name])),
      ),
    },
  )
}

const NO_EXPORTS = { dataobjects: {}, targets: {} }

/** The Installation's own scope: its imports and the exports of its sub-installations. */
function mergeScopes(imports: InstallationImports, exported: Pick<ExportBindings, 'dataobjects' | 'targets'>) {
  return {
    dataobjects: mergeFields(imports.data, exported.dataobjects),
    targets: mergeFields(pick(imports.bindings, Object.keys(imports.targetObjects)), exported.targets),
  }
}

// fromEntries defines own properties, also for a key such as __proto__.
function mergeFields(earlier: Fields, later: Fields): Fields {
  return Object.fromEntries([...Object.entries(earlier), ...Object.entries(later)])
}

async function readItemExports(deps: LandscaperDeps, { namespace, name }: Subject): Promise<JsonValue> {
  const object = await readObject(deps, dataObjectKind, namespace, dataObjectName(executionContext(name), ''))
  return object?.data ?? {}
}

function pick(fields: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, fields[name]]))
}

interface Publisher {
  readonly subject: Subject
  readonly jobID: string
  /** The scope of the exports. */
  readonly context: string
}

function nameAndLabels({ subject, jobID, context }: Publisher, key: string): Pick<DataToWrite, 'name' | 'labels'> {
  const source = installationContext(subject.name)
  return {
    name: dataObjectName(context, key),
    labels: dataLabels({ context, key, sourceType: 'export', source, jobID }),
  }
}

function withTarget(
  place: Pick<DataToWrite, 'name' | 'labels'>,
  target: ReturnType<typeof targetContent>,
): DataToWrite {
  return { ...place, ...target, labels: { ...target.labels, ...place.labels } }
}

// Removes null fields, which templates render for missing values.
function exportedTarget(value: unknown): Partial<ExportedTarget> {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([, field]) => field !== null))
}

function targetContent({ landscaper: { strictTenancy } }: LandscaperDeps, name: string, value: unknown) {
  const { type, config, secretRef, labels, annotations } = exportedTarget(value)
  if (type === undefined || (config !== undefined && secretRef !== undefined)) {
    throw finalFailure(
      'ERR_CONFIGURATION_PROBLEM',
      `export "${name}": type is missing, or both config and secretRef are set; set the type and at most one of them`,
      TARGETS_REFUSED,
    )
  }
  if (strictTenancy && typeof config === 'object' && config !== null && 'selfConfig' in config) {
    throw finalFailure(
      'ERR_CONFIGURATION_PROBLEM',
      `export "${name}": config: found selfConfig; expected a kubeconfig, because of --strict-tenancy`,
      TARGETS_REFUSED,
    )
  }
  return {
    content: { spec: { type, ...(config !== undefined && { config }), ...(secretRef !== undefined && { secretRef }) } },
    ...(labels !== undefined && { labels }),
    ...(annotations !== undefined && { annotations }),
  }
}

// Deletes the exports of an Installation before its job's failure is visible, so that no importer uses exports of an earlier job as current ones.
// Source: spec/landscaper.md 2.3 "Init" 1, docs/adr/0046.

/** Deletes the exports when the job ends as failed; objects of other owners stay. @throws KubeError */
export async function withdrawExports(
  landscaperDeps: LandscaperDeps,
  { by, subject, phase, kube }: ComingEnd,
): Promise<void> {
  if (phase !== 'Failed') return
  const deps = { ...landscaperDeps, kube }
  const found = await Promise.all(
    [dataObjectKind, targetKind].map((watched) => exportDeletions(deps, subject, watched)),
  )
  const writer = { ...by, step: 'withdrawExports', fieldManager: 'pawl-installation' }
  for (const answer of await writeAll(deps, writer, found.flat())) if (answer.result === 'failed') throw answer.error
}

async function exportDeletions(
  deps: LandscaperDeps,
  subject: Subject,
  watched: typeof dataObjectKind | typeof targetKind,
): Promise<readonly Write[]> {
  const { namespace, name: installation } = subject
  const source = labelValue(installationContext(installation))
  const labelSelector = `${SOURCE_LABEL}=${source},${SOURCE_TYPE_LABEL}=export`
  const found = await listFromServer(deps, watched, namespace, labelSelector)
  return found
    .filter((one) => isOnlyOwnedBy(one, installationKind, subject))
    .map(({ metadata: { name, uid, resourceVersion: version } }) => {
      return { verb: 'delete', watched, namespace, name, uid, version }
    })
}
