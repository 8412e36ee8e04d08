// Completing: what the Installation publishes. Source: spec/landscaper.md 2.3 "Completing", 3.4, 3.6.

import { type DataToWrite, writeDataObjects } from '../kube/data-objects.ts'
import { dataLabels, dataObjectName, executionContext, installationContext, ROOT_CONTEXT } from '../render/names.ts'
import { dataObjectKind } from '../../workflows/data-object/kind.ts'
import { executionKind } from '../../workflows/execution/kind.ts'
import { installationKind } from '../../workflows/installation/kind.ts'
import type { By, Subject } from '../../workflows/kit/index.ts'
import { targetKind } from '../../workflows/target/kind.ts'
import type { Deps } from '../deps.ts'
import { finalFailure, toApplicationFailure } from '../kube/errors.ts'
import { readObject } from '../kube/observe.ts'
import { readBlueprint } from '../render/blueprint.ts'
import { finishExports } from '../render/exports.ts'
import { renderExports } from '../render/executions.ts'
import { readInstallation, userMistake } from './apply-execution.ts'

export interface ExportInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly generation: number
}

interface InstallationSpec {
  readonly blueprint?: unknown
  readonly exports?: {
    readonly data?: readonly { readonly name: string; readonly dataRef: string }[]
    readonly targets?: readonly { readonly name: string; readonly target: string }[]
  }
}

/** What an exported target must look like. Source: spec/landscaper.md 1.5. */
interface ExportedTarget {
  readonly type: string
  readonly config?: unknown
  readonly secretRef?: unknown
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export const exportActivities = (deps: Deps) => ({
  /**
   * Renders the export executions and writes what the Installation lists in `spec.exports`. Idempotent: one write per object that differs.
   *
   * @throws final faults: `ExportNotProduced`, `SchemaValidationFailed`, `ExportConflict`, template errors.
   */
  async writeExports(input: ExportInput): Promise<void> {
    try {
      const installation = await readInstallation(deps, input)
      const spec = (installation['spec'] ?? {}) as InstallationSpec
      const data = spec.exports?.data ?? []
      const targets = spec.exports?.targets ?? []
      const blueprint = readBlueprint(spec.blueprint)
      const deployitems = await readItemExports(deps, input.subject)
      const { exports: produced } = await renderExports(deps.templates, blueprint, {
        blueprint: spec.blueprint,
        imports: {},
        deployitems,
        dataobjects: {},
        targets: {},
      })
      const requested = [...data, ...targets].map(({ name }) => name)
      const exports = await finishExports(deps.templates, blueprint, { produced, mappings: {}, requested })
      await publish(deps, input, spec.exports ?? {}, exports)
    } catch (error) {
      throw toApplicationFailure(userMistake(error))
    }
  },
})

async function readItemExports(deps: Deps, { namespace, name }: Subject): Promise<Readonly<Record<string, unknown>>> {
  // The reference says whether the Execution of this job exports anything; an object of an earlier job may still be there.
  const execution = await readObject(deps, executionKind, namespace, name)
  const { exportRef } = (execution?.['status'] ?? {}) as { exportRef?: object }
  if (exportRef === undefined) return {}
  const object = await readObject(deps, dataObjectKind, namespace, dataObjectName(executionContext(name), ''))
  return (object?.['data'] ?? {}) as Readonly<Record<string, unknown>>
}

async function publish(
  deps: Deps,
  { by, subject, jobID }: ExportInput,
  { data = [], targets = [] }: NonNullable<InstallationSpec['exports']>,
  exports: Readonly<Record<string, unknown>>,
): Promise<void> {
  const owner = {
    apiVersion: installationKind.apiVersion,
    kind: installationKind.kind,
    name: subject.name,
    uid: subject.uid,
  }
  const common = { namespace: subject.namespace, owner, jobID }
  const writer = { ...by, step: 'writeExports', fieldManager: 'pawl-installation' }
  const place = (key: string) => ({
    name: dataObjectName(ROOT_CONTEXT, key),
    labels: dataLabels({
      context: ROOT_CONTEXT,
      key,
      sourceType: 'export',
      source: installationContext(subject.name),
      jobID,
    }),
  })
  await writeDataObjects(deps, writer, {
    ...common,
    watched: dataObjectKind,
    objects: data.map(({ name, dataRef }) => ({ ...place(dataRef), content: { data: exports[name] } })),
  })
  await writeDataObjects(deps, writer, {
    ...common,
    watched: targetKind,
    objects: targets.map(({ name, target }) => withTarget(place(target), targetContent(name, exports[name]))),
  })
}

function withTarget(
  place: Pick<DataToWrite, 'name' | 'labels'>,
  target: ReturnType<typeof targetContent>,
): DataToWrite {
  return { ...place, ...target, labels: { ...target.labels, ...place.labels } }
}

function targetContent(name: string, value: unknown) {
  const { type, config, secretRef, labels, annotations } = (value ?? {}) as Partial<ExportedTarget>
  if (type === undefined || (config === undefined) === (secretRef === undefined)) {
    throw finalFailure(
      'ERR_CONFIGURATION_PROBLEM',
      `export ${name}: found no target; expected type and either config or secretRef`,
    )
  }
  return {
    content: { spec: { type, ...(config !== undefined && { config }), ...(secretRef !== undefined && { secretRef }) } },
    ...(labels !== undefined && { labels }),
    ...(annotations !== undefined && { annotations }),
  }
}
