// From a blueprint and its imports to the spec of the Execution. Nothing is read from a cluster here, and nothing written.
// Source: spec/landscaper.md 1.3, 2.3 "Init" 9, 3.6.

import { gzipSync } from 'node:zlib'
import { canonicalJson } from '../../../workflows/kit/index.ts'
import type { Blueprint } from './blueprint.ts'
import { type DeployBindings, type DeployItemTemplate, renderDeployItems } from './executions.ts'
import type { ExecutionStates } from './executor.ts'
import type { TemplateEngine } from './template-engine.ts'

export interface ExecutionSpec {
  /** Name of the Context of the items. */
  readonly context: string
  /** The items as compressed JSON; equal items are equal texts. */
  readonly deployItemsCompressed: string
}

export interface RenderedExecution {
  /** Also without items: it empties an Execution that is there. */
  readonly spec: ExecutionSpec
  readonly hasItems: boolean
  /** New states, of the executors that have one. */
  readonly states: ExecutionStates
}

/** @throws as renderDeployItems */
export async function renderExecution(
  engine: TemplateEngine,
  blueprint: Blueprint,
  { context, ...bindings }: DeployBindings & Pick<ExecutionSpec, 'context'>,
): Promise<RenderedExecution> {
  const { items, states } = await renderDeployItems(engine, blueprint, bindings)
  return { spec: executionSpec(context, items), hasItems: items.length > 0, states }
}

// Always the compressed form, for the size limit of objects. Source: spec/landscaper.md 1.3. Canonical, so that equal items are equal bytes.
function executionSpec(context: string, items: readonly DeployItemTemplate[]): ExecutionSpec {
  return { context, deployItemsCompressed: gzipSync(canonicalJson(items)).toString('base64') }
}
