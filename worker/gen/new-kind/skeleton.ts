// The files of a new kind, as texts: its controller in level mode applies a ConfigMap with the message of the spec. The files are the kind, the document with
// queries and actions, the actions, the plans for reconcile and deletion, and a test; in a project also a sample object.

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
  /** The specifier by which modules import the kit. */
  readonly kit: string
}

/** The files by path, without the module that `pawl gen` compiles from controller.cm. */
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
      : [
          [`${folder}/controllers.ts`, controllersModule(names)] as const,
          [`${folder}/sample.yaml`, sample(names)] as const,
        ]),
    [`${folder}/controller.cm`, document(names)],
    [`${folder}/apply-config-map.ts`, actionModule(names)],
    [`${folder}/remove-config-map.ts`, removalModule(names)],
    [`${folder}/plan.ts`, planModule(names)],
    [`${testFolder}/plan.test.ts`, testModule(names)],
  ])
}

function readme({ kind, layout, folder }: KindNames): string {
  const commands = `
\`\`\`
npx pawl gen ${folder}/controller.cm                    # after each change of the document
npx pawl gen crd ${folder}/kind.ts --out ${folder}/crd.yaml
npx pawl gen rbac ${folder}/controllers.ts --out ${folder}/rbac.yaml
npx vitest run && npx tsc -p .
npx pawl dev --controllers ${folder}/controllers.ts     # then: kubectl apply -f ${folder}/crd.yaml, -f ${folder}/sample.yaml
\`\`\`
`
  return `# ${kind}

Keeps a ConfigMap with its message. Say here what the kind is for, in at most 100 words.

Steps: [plan.ts](plan.ts). What it observes and can do: [controller.cm](controller.cm).
${layout === 'project' ? commands : ''}`
}

/** In a project: an object to apply. */
function sample({ kind, group }: KindNames): string {
  return `apiVersion: ${group}/v1alpha1
kind: ${kind}
metadata:
  name: sample
spec:
  message: hello
`
}

function fieldsModule({ kind, value, kit }: KindNames): string {
  return `// What the controller of ${kind} writes, and nobody else (docs/concepts/fields.md "One controller per field").

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

import { conditionsField, defineKind, type ObjectOf, path, record, required, text } from '${kit}'

export const ${value}Kind = defineKind({
  group: '${group}',
  version: 'v1alpha1',
  kind: '${kind}',
  plural: '${plural}',
  singular: '${singular}',
  shortNames: [],
  statusSubresource: true,
  printerColumns: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Message', type: 'string', jsonPath: '.status.message' },
  ],
  description: 'Keeps a ConfigMap with its message.',
  schema: {
    spec: required(record('The desired state.', { message: required(text('The message in the ConfigMap.')) })),
    status: record('The observed state.', {
      message: text('The last observed message in the ConfigMap.'),
      // Pawl reports code that throws as Ready=False, too.
      conditions: conditionsField,
    }),
  },
  projection: [path('status.message')],
  workerVerbs: [],
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

    // Deletes the ConfigMap, and waits until it is gone.
    RemoveConfigMap(configMap)
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

function removalModule(names: KindNames): string {
  const { kind, kit } = names
  return `// Deletes the ConfigMap and waits for its end: the finalizer keeps the object until this is \`done\`. Owned objects are deleted by Kubernetes, so
// make of this what does not: something outside of the cluster, or a last look.

import { done, type Outcome, stop } from '${kit}'
import type { ConfigMap } from '${configMapModule(names)}'
import type { ${kind}Pass } from './controller.gen.ts'

export async function removeConfigMap({ act }: ${kind}Pass, configMap: ConfigMap | undefined): Promise<Outcome> {
  if (configMap === undefined) return done
  if (configMap.metadata.deletionTimestamp === undefined) await act.remove(configMap)
  return stop('the ConfigMap is being deleted')
}
`
}

function planModule({ kind, value, kit }: KindNames): string {
  return `// The steps of a pass, on one screen.

import { always, checkedPlan, reportFaults, sequential } from '${kit}'
import { applyConfigMap } from './apply-config-map.ts'
import { type ${kind}Pass, ${value}Steps } from './controller.gen.ts'
import { removeConfigMap } from './remove-config-map.ts'

const step = ${value}Steps({ applyConfigMap, removeConfigMap })
const report = reportFaults<${kind}Pass>({ type: 'Ready' })

/** What a pass over a ${kind} does. */
export const ${value}Plan = checkedPlan(always(sequential(step.applyConfigMap), report))

/** What it does while the ${kind} is being deleted. */
export const ${value}Deletion = checkedPlan(always(sequential(step.removeConfigMap), report))
`
}

/** The specifier of the module with the type ConfigMap. */
function configMapModule({ layout }: KindNames): string {
  return layout === 'checkout' ? './config-map.ts' : 'pawl/kit/v1'
}

/** In a checkout: the controller for the registry. */
function controllerModule(names: KindNames): string {
  return `// What the engine knows of the controller of ${names.kind}: it runs in level mode.

${definition(names)}`
}

function definition({ value, group, kit }: KindNames): string {
  return `import { defineLevel } from '${kit}'
import { ${value}Queries } from './controller.gen.ts'
import { ${value}Kind } from './kind.ts'
import { ${value}Deletion, ${value}Plan } from './plan.ts'

export const ${value}Controller = defineLevel({
  name: '${value}',
  target: ${value}Kind,
  queries: ${value}Queries,
  plan: ${value}Plan,
  finalizer: '${group}/${value}',
  onDelete: ${value}Deletion,
  writes: ['v1/ConfigMap'],
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

/** In a project: the module for `--controllers`. */
function controllersModule(names: KindNames): string {
  return `// The controllers that the bridge and the worker run: \`--controllers controllers.ts\`.

${definition(names)}
export const controllers = [${names.value}Controller]
`
}

/** The test of the kind: a pass over an object, and a pass over a deleted object. */
export function testModule({ kind, value, layout, folder }: KindNames): string {
  const isOwn = layout === 'checkout'
  const from = isOwn ? `../../../../${folder}` : '.'
  const kit = isOwn ? '../../../../workflows/kit' : 'pawl/kit'
  const [index, testing] = isOwn ? [`${kit}/index.ts`, `${kit}/testing/index.ts`] : [kit, `${kit}/testing`]
  return `import { describe, expect, it } from 'vitest'

import { done } from '${index}'
import { runPass, stored } from '${testing}'
import type { ConfigMap } from '${isOwn ? `${from}/config-map.ts` : 'pawl/kit/v1'}'
import { ${value}Controller } from '${from}/${isOwn ? 'controller' : 'controllers'}.ts'

const target = { spec: { message: 'hello' } }
const mapWith = (message: string) => stored<ConfigMap>({ apiVersion: 'v1', kind: 'ConfigMap', data: { message } })

describe('a pass over an object of kind ${kind}', () => {
  it('creates the ConfigMap if it does not exist', async () => {
    const { outcome, written, status, next } = await runPass(${value}Controller, { target })
    expect([outcome, written]).toEqual([done, ['apply ConfigMap one']])
    expect(next.state.configMap?.data).toEqual({ message: 'hello' })
    expect(status).toMatchObject({ message: 'hello', conditions: [{ type: 'Ready', status: 'True' }] })
  })

  it('writes nothing if the ConfigMap has the desired message', async () => {
    const { written } = await runPass(${value}Controller, { target, state: { configMap: mapWith('hello') } })
    expect(written).toEqual([])
  })

  it('reports a fault as Ready=False, and only observed values in the status', async () => {
    const fault = { code: 'Forbidden', message: 'no', retryable: true }
    const { outcome, status } = await runPass(${value}Controller, { target, fails: { apply: fault } })
    expect(outcome.faults).toEqual([fault])
    expect(status).not.toHaveProperty('message')
    expect(status['conditions']).toMatchObject([{ type: 'Ready', status: 'False', reason: 'Forbidden', message: 'no' }])
  })

  it('releases the object when the ConfigMap does not exist any more', async () => {
    const { finalizer } = ${value}Controller
    const metadata = { deletionTimestamp: '2026-01-02T00:00:00Z', finalizers: [finalizer ?? ''] }
    const going = { target: { ...target, metadata }, state: { configMap: mapWith('hello') } }
    const first = await runPass(${value}Controller, going)
    expect([first.written, first.ended]).toEqual([['remove ConfigMap one'], undefined])
    expect((await runPass(${value}Controller, first.next)).ended).toBe('Deleted')
  })
})
`
}

export const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2023",
    "module": "nodenext",
    "strict": true,
    "exactOptionalPropertyTypes": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "verbatimModuleSyntax": true,
    "erasableSyntaxOnly": true,
    "skipLibCheck": true
  }
}
`
