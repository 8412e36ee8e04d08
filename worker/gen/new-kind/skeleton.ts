// The files of a new kind, as texts: its controller in level mode applies a ConfigMap with the message of the spec. It needs no finalizer, because
// Kubernetes deletes the ConfigMap with its owner. The files are the kind, the document with query and action, the action, the plan, and a test; in a
// project also a sample object.

import { join } from 'node:path'

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
  /** The folder that contains `folder`, as the user types it: `.` in a project. */
  readonly root: string
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
    [`${folder}/plan.ts`, planModule(names)],
    [`${testFolder}/plan.test.ts`, testModule(names)],
  ])
}

function readme({ kind, layout, folder, root }: KindNames): string {
  const at = join(root, folder)
  const tests = root === '.' ? 'npx vitest run' : `npx vitest run --root ${root} ${folder}`
  const commands = `
\`\`\`
npx pawl gen ${at}/controller.cm                    # after each change of the document
npx pawl gen crd ${at}/kind.ts --out ${at}/crd.yaml
npx pawl gen rbac ${at}/controllers.ts --out ${at}/rbac.yaml
${tests} && npx tsc -p ${root}
npx pawl dev --watch --controllers ${at}/controllers.ts     # then: kubectl apply -f ${at}/crd.yaml, -f ${at}/sample.yaml
\`\`\`
`
  return `# ${kind}

Keeps a ConfigMap with its message. Say here what the kind is for, in at most 100 words.

Steps: [plan.ts](plan.ts). Observed objects and actions: [controller.cm](controller.cm).
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
  return `// The fields that only the controller of ${kind} writes (docs/concepts/fields.md "One controller per field").

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
  printerColumns: [{ name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' }],
  description: 'Keeps a ConfigMap with its message.',
  schema: {
    spec: required(record('The desired state.', { message: required(text('The message in the ConfigMap.')) })),
    // Code that throws is reported as Ready=False, too.
    status: record('The observed state.', { conditions: conditionsField }),
  },
  // The fields that \`pawl history\`, \`get\` and \`why\` show.
  projection: [path('status.conditions')],
  workerVerbs: [],
})

export type ${kind} = ObjectOf<typeof ${value}Kind>
`
}

const CONFIG_MAP = `// The observed kind of Kubernetes, with the fields that the controller reads.

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
    // The ConfigMap with the name of the object. Each change of it starts a pass.
    configMap ConfigMap {
      name=\${target.metadata.name}
      owned
    }
  }

  action {
    // Writes the message of the spec to the ConfigMap.
    ApplyConfigMap(configMap)
  }
}
`
}

function actionModule({ kind, kit }: KindNames): string {
  return `// Writes the message of the spec to the ConfigMap. The object is its owner, so Kubernetes deletes the ConfigMap with it.

import { done, type Outcome } from '${kit}'
import type { ${kind}Pass } from './controller.gen.ts'

export async function applyConfigMap({ target, act }: ${kind}Pass): Promise<Outcome> {
  const { name } = target.metadata
  const { message } = target.spec
  // Writes nothing if the ConfigMap already has the message.
  await act.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { message } })
  return done
}
`
}

function planModule({ kind, value, kit }: KindNames): string {
  return `// The steps of a pass: the action, then the condition Ready, also after a fault.

import { always, checkedPlan, reportFaults } from '${kit}'
import { applyConfigMap } from './apply-config-map.ts'
import { type ${kind}Pass, ${value}Steps } from './controller.gen.ts'

const step = ${value}Steps({ applyConfigMap })

export const ${value}Plan = checkedPlan(always(step.applyConfigMap, reportFaults<${kind}Pass>({ type: 'Ready' })))
`
}

/** The specifier of the module with the type ConfigMap. */
function configMapModule({ layout }: KindNames): string {
  return layout === 'checkout' ? './config-map.ts' : 'pawl/kit/v1'
}

/** In a checkout: the controller for the registry. */
function controllerModule(names: KindNames): string {
  return `// Registers the controller of ${names.kind}, which runs in level mode.

${definition(names)}`
}

function definition({ value, kit }: KindNames): string {
  return `import { defineLevel } from '${kit}'
import { ${value}Queries } from './controller.gen.ts'
import { ${value}Kind } from './kind.ts'
import { ${value}Plan } from './plan.ts'

export const ${value}Controller = defineLevel({
  name: '${value}',
  target: ${value}Kind,
  queries: ${value}Queries,
  plan: ${value}Plan,
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

/** The test of the kind: passes over an object. */
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
    expect(status).toMatchObject({ conditions: [{ type: 'Ready', status: 'True' }] })
  })

  it('writes nothing if the ConfigMap has the desired message', async () => {
    const { written } = await runPass(${value}Controller, { target, state: { configMap: mapWith('hello') } })
    expect(written).toEqual([])
  })

  it('reports a fault as Ready=False', async () => {
    const fault = { code: 'Forbidden', message: 'no', retryable: true }
    const { outcome, status } = await runPass(${value}Controller, { target, fails: { apply: fault } })
    expect(outcome.faults).toEqual([fault])
    expect(status['conditions']).toMatchObject([{ type: 'Ready', status: 'False', reason: 'Forbidden', message: 'no' }])
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
