// Tests the size limits of blueprints, Installations and deploy items, and the errors of objects that exceed them.

import { describe, expect, it } from 'vitest'
import { readManifestConfig } from '../../../activities/landscaper/deploy/manifest/config.ts'
import { MOST_EXPORTS, readExports } from '../../../activities/landscaper/deploy/objects/resource-exports.ts'
import {
  MOST_CHECKS,
  MOST_REQUIREMENTS,
  MOST_RESOURCES,
} from '../../../activities/landscaper/deploy/objects/readiness/readiness-config.ts'
import { MOST_ITEMS } from '../../../activities/landscaper/item-rules.ts'
import {
  MAX_EXECUTIONS,
  readDefinition,
  MAX_DEFINITIONS,
} from '../../../activities/landscaper/render/blueprint/blueprint-definition.ts'
import { renderDeployItems } from '../../../activities/landscaper/render/executions.ts'
import { MAX_MAPPINGS, renderMappings } from '../../../activities/landscaper/render/executor.ts'
import type { TemplateEngine } from '../../../activities/landscaper/render/engine/template-engine.ts'
import { compileJsonPath } from '../../../activities/landscaper/deploy/objects/json-path.ts'
import { config, deployItem } from './deploy/manifest/manifests.ts'
import { bindings, blueprintOf, rejection } from './render/execution-builders.ts'
import { data } from './tenant-data.ts'

const many = <T>(count: number, one: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => one(index))

describe('a blueprint', () => {
  it.each([
    ['deployExecutions', MAX_EXECUTIONS, '{ name: a, type: GoTemplate, template: "" }'],
    ['importExecutions', MAX_EXECUTIONS, '{ name: a, type: GoTemplate, template: "" }'],
    ['exportExecutions', MAX_EXECUTIONS, '{ name: a, type: GoTemplate, template: "" }'],
  ])('has no more %s than %i', (key, most, entry) => {
    const definition = (count: number) => `${key}:\n${many(count, () => `- ${entry}`).join('\n')}`
    expect(readDefinition(definition(most))).toHaveProperty(`${key}.length`, most)
    expect(() => readDefinition(definition(most + 1))).toThrow(
      `blueprint.yaml, line 2, ${key}: found ${most + 1} entries; expected at most ${most}`,
    )
  })

  it('has no more imports and exports than are held against schemas', () => {
    const exports = many(MAX_DEFINITIONS + 1, (index) => `- { name: e${index}, schema: {} }`)
    expect(() => readDefinition(`exports:\n${exports.join('\n')}`)).toThrow(
      /exports: found 2001 entries; expected at most 2000$/,
    )
    const inner = many(MAX_DEFINITIONS, (index) => `  - { name: i${index}, schema: {} }`)
    const imports = ['imports:', '- name: a', '  required: false', '  schema: {}', '  imports:', ...inner].join('\n')
    expect(() => readDefinition(imports)).toThrow(
      'found 2001 imports; expected at most 2000, including conditional imports',
    )
  })

  it('renders no more items than a run has tracks for, and nothing after them', async () => {
    const rendered: string[] = []
    const engine = {
      data,
      render: ({ name }: { name: string }) => {
        rendered.push(name)
        const items = many(MOST_ITEMS, (index) => ({ name: `${name}-${index}`, type: 'mock', config: { kind: 'x' } }))
        return Promise.resolve({ output: JSON.stringify({ deployItems: items }) })
      },
    } as unknown as TemplateEngine
    const blueprint = blueprintOf(...many(4, () => ({ type: 'Spiff', template: {} })))
    const failure = await rejection(renderDeployItems(engine, blueprint, bindings({})))
    expect(failure).toMatchObject({
      code: 'ERR_CONFIGURATION_PROBLEM',
      message: `template "exec-1": found ${2 * MOST_ITEMS} deploy items; expected at most ${MOST_ITEMS}`,
    })
    expect(rendered).toEqual(['exec-0', 'exec-1'])
  })
})

describe('an Installation', () => {
  it('has no more mappings', async () => {
    const mappings = Object.fromEntries(many(MAX_MAPPINGS + 1, (index) => [`m${index}`, 1]))
    // The mappings are rejected before the first one is rendered, so no engine is needed.
    const engine = undefined as unknown as TemplateEngine
    await expect(renderMappings(engine, 'importDataMappings', mappings, {})).rejects.toMatchObject({
      code: 'ERR_CONFIGURATION_PROBLEM',
      message: `spec.importDataMappings: found ${MAX_MAPPINGS + 1} entries; expected at most ${MAX_MAPPINGS}`,
    })
  })
})

describe('a deploy item', () => {
  const requirement = { jsonPath: '.a', operator: 'exists' }
  const resource = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', namespace: 'n' }
  const check = (index: number, requirements: number, resources: number) => ({
    name: `c${index}`,
    resourceSelector: many(resources, () => resource),
    requirements: many(requirements, () => requirement),
  })
  const read = (fields: Readonly<Record<string, unknown>>) => () => readManifestConfig(deployItem(config(fields)))

  it('has no more checks, paths and objects to look at', () => {
    const checks = (...custom: object[]) => read({ readinessChecks: { custom } })
    expect(checks(...many(MOST_CHECKS, (index) => check(index, 2, 5)))).not.toThrow()
    const field = 'spec.config.readinessChecks.custom: found'
    expect(checks(...many(MOST_CHECKS + 1, (index) => check(index, 1, 1)))).toThrow(
      `${field} ${MOST_CHECKS + 1} checks; expected at most ${MOST_CHECKS}`,
    )
    expect(checks(check(1, MOST_REQUIREMENTS, 1), check(2, 1, 1))).toThrow(
      `${field} ${MOST_REQUIREMENTS + 1} requirements; expected at most ${MOST_REQUIREMENTS} in all checks`,
    )
    expect(checks(check(1, 1, MOST_RESOURCES + 1))).toThrow(
      `${field} ${MOST_RESOURCES + 1} resources; expected at most ${MOST_RESOURCES} in all checks`,
    )
  })

  it('has no more exports', () => {
    const exports = (count: number) =>
      read({
        exports: { exports: many(count, (index) => ({ key: `k${index}`, jsonPath: '.a', fromResource: resource })) },
      })
    expect(exports(MOST_EXPORTS)).not.toThrow()
    expect(exports(MOST_EXPORTS + 1)).toThrow(
      `spec.config.exports.exports: found ${MOST_EXPORTS + 1} exports; expected at most ${MOST_EXPORTS}`,
    )
  })

  it('exports no more than its Secret can hold, and reads each object once', async () => {
    let reads = 0
    const target = {
      servedKind: () => Promise.resolve({ apiVersion: 'v1', plural: 'configmaps', namespaced: true }),
      kube: {
        request: () => {
          reads++
          return Promise.resolve({ metadata: { name: 'c' }, data: { a: 'x'.repeat(700_000), b: 'y' } })
        },
      },
    }
    const exports = (...paths: string[]) =>
      paths.map((text, index) => ({
        key: `k${index}`,
        path: compileJsonPath(text),
        pathText: text,
        from: resource,
        objectRef: undefined,
        targetName: undefined,
      }))
    const signal = new AbortController().signal
    const work = { target, openTarget: () => Promise.resolve(target), data, signal } as unknown as Parameters<
      typeof readExports
    >[0]['work']
    expect(
      await readExports({ work, exports: exports('.data.b', '.data.b', '.metadata.name'), deployer: 'manifest' }),
    ).toEqual({
      result: 'done',
      exports: { k0: 'y', k1: 'y', k2: 'c' },
    })
    expect(reads).toBe(1)
    const excessive = readExports({ work, exports: exports('.data.a', '.data.a'), deployer: 'manifest' })
    await expect(excessive).rejects.toThrow('exports: found more than 1 MiB; expected less')
  })
})
