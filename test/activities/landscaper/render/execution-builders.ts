// Blueprints and bindings for tests of executions.

import type { Blueprint } from '../../../../activities/landscaper/render/blueprint/blueprint.ts'
import { readDefinition } from '../../../../activities/landscaper/render/blueprint/blueprint-definition.ts'
import type { BlueprintError } from '../../../../activities/landscaper/render/render-errors.ts'
import type { DeployBindings } from '../../../../activities/landscaper/render/executions.ts'

export type ExecutorFields = { name?: string; place?: string; type?: string; file?: string; template?: unknown }

export function blueprintOf(...executors: ExecutorFields[]): Blueprint {
  const deployExecutions = executors.map((fields, index) => ({ name: `exec-${index}`, type: 'GoTemplate', ...fields }))
  return { ...readDefinition(''), files: {}, deployExecutions }
}

export function exportsOf(...templates: string[]): Blueprint {
  const { deployExecutions, ...rest } = blueprintOf(...templates.map((template) => ({ template })))
  return { ...rest, deployExecutions: [], exportExecutions: deployExecutions }
}

export function items(name: string, ...fields: string[]): string {
  const own = ['type: mock', 'config: { apiVersion: mock/v1, kind: ProviderConfiguration }', ...fields]
  return ['deployItems:', `- name: ${name}`, ...own.map((field) => `  ${field}`)].join('\n')
}

export function bindings(imports: Record<string, unknown>): DeployBindings {
  return { namespace: 'demo', blueprint: { inline: { id: 7 } }, imports }
}

export async function rejection(rendered: Promise<unknown>): Promise<BlueprintError> {
  const outcome = await rendered.then(
    () => new Error('found a rendered document; expected a failure'),
    (error: unknown) => error,
  )
  return outcome as BlueprintError
}
