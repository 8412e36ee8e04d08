// The files of a new kind's folder, as texts: an object whose controller keeps a ConfigMap of its name in step with its spec.
// Small, but whole: definition, observed state, an action that decides and acts, plan, controller in level mode, test.

export interface KindNames {
  /** `TimeTable`. */
  readonly kind: string
  /** `timeTable`. */
  readonly value: string
  readonly group: string
  readonly singular: string
  readonly plural: string
  readonly layout: 'checkout' | 'project'
  /** `workflows/example/time-table`; in a project `time-table`. */
  readonly folder: string
  /** `test/workflows/example/time-table`; in a project the same folder. */
  readonly testFolder: string
  /** From where the modules import the kit. */
  readonly kit: string
}

/** The files by path, without the module that is generated from controller.cm. */
export function skeleton(names: KindNames): ReadonlyMap<string, string> {
  const { layout, folder, testFolder } = names
  return new Map([
    [`${folder}/README.md`, readme(names)],
    [`${folder}/kind.ts`, kindModule(names)],
    ...(layout === 'checkout'
      ? [
          [`${folder}/config-map.ts`, CONFIG_MAP] as const,
          [`${folder}/controller.ts`, controllerModule(names)] as const,
          [`${folder}/fields.ts`, fieldsModule(names)] as const,
          [`${folder}/workflow.ts`, workflowModule(names)] as const,
        ]
      : [[`${folder}/controllers.ts`, controllersModule(names)] as const]),
    [`${folder}/controller.cm`, document(names)],
    [`${folder}/apply-config-map.ts`, actionModule(names)],
    [`${folder}/plan.ts`, planModule(names)],
    [`${testFolder}/plan.test.ts`, testModule(names)],
  ])
}

function readme({ kind }: KindNames): string {
  return `# ${kind}

Keeps a ConfigMap with its message. Say here what the kind is for, in at most 100 words.

Steps: [plan.ts](plan.ts). What it observes and can do: [controller.cm](controller.cm).
`
}

function fieldsModule({ kind, value, kit }: KindNames): string {
  return `// What the controller of ${kind} writes, and nobody else (docs/concepts.md "One controller per field").

import { type OwnedFields, path } from '${kit}'

export const ${value}Fields: OwnedFields = {
  controller: '${value}',
  fields: { ${kind}: [path('status')] },
  makes: ['ConfigMap'],
}
`
}

function kindModule({ kind, value, group, singular, plural, kit }: KindNames): string {
  return `// ${kind}: keeps a ConfigMap with its message.

import { defineKind, type ObjectOf, path, record, required, text } from '${kit}'

export const ${value}Kind = defineKind({
  group: '${group}',
  version: 'v1alpha1',
  kind: '${kind}',
  plural: '${plural}',
  singular: '${singular}',
  shortNames: [],
  statusSubresource: true,
  printerColumns: [{ name: 'Message', type: 'string', jsonPath: '.status.message' }],
  description: 'Keeps a ConfigMap with its message.',
  schema: {
    spec: required(record('What is wanted.', { message: required(text('What the ConfigMap says.')) })),
    status: record('What is there.', { message: text('What the ConfigMap said when it was last looked at.') }),
  },
  projection: [path('status.message')],
  workerVerbs: ['patch'],
})

export type ${kind} = ObjectOf<typeof ${value}Kind>
`
}

const CONFIG_MAP = `// The kind of Kubernetes that the controller observes: what it reads of it.

import type { ObjectMeta } from '../../kit/index.ts'

export interface ConfigMap {
  readonly apiVersion: 'v1'
  readonly kind: 'ConfigMap'
  readonly metadata: ObjectMeta
  readonly data?: Readonly<Record<string, string>>
}
`

function document(names: KindNames): string {
  const { kind, group } = names
  return `bind v1 ${configMapModule(names)}
bind ${group}/v1alpha1 ./kind.ts

alias ConfigMap v1/ConfigMap
alias ${kind} ${group}/v1alpha1/${kind}

decl ${kind} for ${kind} {
  state {
    // The ConfigMap of its name, if it is there.
    configMap ConfigMap {
      name=\${target.metadata.name}
      owned
    }
  }

  action {
    // Makes the ConfigMap say what the spec says.
    ApplyConfigMap(configMap)
  }
}
`
}

function actionModule(names: KindNames): string {
  const { kind, kit } = names
  return `// Makes the ConfigMap say what the spec says; writes nothing when it does.

import { done, type Outcome } from '${kit}'
import type { ConfigMap } from '${configMapModule(names)}'
import type { ${kind}Pass } from './controller.gen.ts'

export async function applyConfigMap(
  { target, act, status }: ${kind}Pass,
  configMap: ConfigMap | undefined,
): Promise<Outcome> {
  const { message } = target.spec
  if (configMap?.data?.['message'] !== message) {
    await act.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: target.metadata.name },
      data: { message },
    })
  }
  status['message'] = message
  return done
}
`
}

function planModule({ kind, value, kit }: KindNames): string {
  return `// The steps of a pass, on one screen.

import { checkedPlan, sequential } from '${kit}'
import { applyConfigMap } from './apply-config-map.ts'
import { ${value}Steps } from './controller.gen.ts'

const step = ${value}Steps({ applyConfigMap })

/** What a pass over a ${kind} does. */
export const ${value}Plan = checkedPlan(sequential(step.applyConfigMap))
`
}

/** Where the type of a ConfigMap is, seen from the kind's folder. */
function configMapModule({ layout }: KindNames): string {
  return layout === 'checkout' ? './config-map.ts' : 'pawl/kit/v1'
}

/** In a checkout: what the registry lists. */
function controllerModule({ kind, value, kit }: KindNames): string {
  return `// What the engine knows of the controller of ${kind}: it runs in level mode.

import { defineLevel } from '${kit}'
import { ${value}Queries } from './controller.gen.ts'
import { ${value}Kind } from './kind.ts'
import { ${value}Plan } from './plan.ts'

export const ${value}Controller = defineLevel({
  name: '${value}',
  target: ${value}Kind,
  queries: ${value}Queries,
  plan: ${value}Plan,
})
`
}

function workflowModule({ kind, value, kit }: KindNames): string {
  const run = kit.replace(/index\.ts$/, 'run')
  return `import type { JobInput } from '${kit}'
import { runLevel, type RunResult } from '${run}/loop/index.ts'
import { ${value}Controller } from './controller.ts'

/** Passes over one ${kind}, until it has converged. */
export async function ${value}(input: JobInput): Promise<RunResult> {
  return await runLevel(${value}Controller, input)
}
`
}

/** In a project: what `--controllers` names. */
function controllersModule({ value }: KindNames): string {
  return `// What the worker and the bridge are started with: \`--controllers controllers.ts\`.

import { defineLevel } from 'pawl/kit'

import { ${value}Queries } from './controller.gen.ts'
import { ${value}Kind } from './kind.ts'
import { ${value}Plan } from './plan.ts'

export const controllers = [
  defineLevel({ name: '${value}', target: ${value}Kind, queries: ${value}Queries, plan: ${value}Plan }),
]
`
}

function testModule({ kind, value, group, layout, folder }: KindNames): string {
  const isOwn = layout === 'checkout'
  const from = isOwn ? `../../../../${folder}` : '.'
  return `import { describe, expect, it } from 'vitest'

import { done, type Runtime, runStep, type WantedObject } from '${isOwn ? '../../../../workflows/kit/index.ts' : 'pawl/kit'}'
import type { ConfigMap } from '${isOwn ? `${from}/config-map.ts` : 'pawl/kit/v1'}'
import type { ${kind}Pass } from '${from}/controller.gen.ts'
import { ${value}Plan } from '${from}/plan.ts'

describe('a pass over an object of kind ${kind}', () => {
  it('makes the ConfigMap when it is not there', async () => {
    const { pass, applied } = passWith(undefined)
    expect(await runStep(${value}Plan, pass, runtime)).toEqual(done)
    expect(applied).toEqual([
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' }, data: { message: 'hello' } },
    ])
    expect(pass.status).toEqual({ message: 'hello' })
  })

  it('writes nothing when the ConfigMap says what it should', async () => {
    const { pass, applied } = passWith('hello')
    expect(await runStep(${value}Plan, pass, runtime)).toEqual(done)
    expect(applied).toEqual([])
  })
})

const runtime: Runtime = {
  sleep: () => Promise.resolve(),
  withTimeout: (_ms, body) => body(),
  toOutcome: () => undefined,
}

const quiet = () => undefined

function passWith(message: string | undefined): { pass: ${kind}Pass; applied: WantedObject[] } {
  const version = { resourceVersion: '1', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' }
  const metadata = { name: 'one', namespace: 'default', uid: 'u', ...version }
  const configMap: ConfigMap | undefined =
    message === undefined ? undefined : { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { message } }
  const state = { configMap }
  const applied: WantedObject[] = []
  const pass: ${kind}Pass = {
    subject: { kind: '${kind}', uid: 'u', namespace: 'default', name: 'one' },
    by: { workflowID: 'w', runID: 'r', pass: 1 },
    target: { apiVersion: '${group}/v1alpha1', kind: '${kind}', metadata, spec: { message: 'hello' } },
    state,
    refresh: (name) => Promise.resolve(state[name]),
    act: {
      apply: (object) => Promise.resolve(void applied.push(object)),
      remove: () => Promise.resolve(),
    },
    call: () => {
      throw new Error('it has no activities of its own')
    },
    now: new Date(),
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    status: {},
  }
  return { pass, applied }
}
`
}
