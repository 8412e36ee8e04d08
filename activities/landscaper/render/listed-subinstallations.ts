// The sub-installations that a blueprint lists, in place or as files of its own: what can be told of them without a template.
// Source: spec/landscaper.md 2.5, 3.5.

import { findCycle, type Problem } from '../../../workflows/kit/index.ts'
import { formatCycle } from '../../../workflows/landscaper/item-rules.ts'
import { BlueprintError } from './blueprint-error.ts'
import { type Blueprint, type BlueprintData, type InlineBlueprintData, readInlineBlueprint } from './blueprint.ts'
import { flowGraph } from '../../../workflows/landscaper/data-flow.ts'
import { isText, notText } from './file-content.ts'
import { isFields } from './field-reader.ts'
import { readTemplate, type SubinstallationTemplate } from './subinstallation-template.ts'
import { YamlError } from '../../yaml/read-yaml.ts'

/** @param problems takes those of the templates. */
export async function listedTemplates(
  data: Pick<BlueprintData, 'yaml'>,
  { subinstallations, files, component }: Pick<Blueprint, 'subinstallations' | 'files' | 'component'>,
  problems: string[],
): Promise<readonly SubinstallationTemplate[]> {
  const templates: SubinstallationTemplate[] = []
  for (const [index, listed] of subinstallations.entries()) {
    const place = `subinstallations[${index}]`
    const file = isFields(listed) && typeof listed['file'] === 'string' ? listed['file'] : undefined
    const template = file === undefined ? { value: listed } : await readFileOf(data, files, file)
    if ('problem' in template) problems.push(`${place}: ${template.problem}`)
    else {
      const where = file === undefined ? place : `${place} (${file})`
      templates.push(readTemplate(template.value, { place: where, component }, problems))
    }
  }
  return templates
}

async function readFileOf(data: Pick<BlueprintData, 'yaml'>, files: Blueprint['files'], file: string) {
  const path = file.replace(/^\.?\/+/, '')
  const text = Object.hasOwn(files, path) ? files[path] : undefined
  if (text === undefined) return { problem: `found no file ${file} in the blueprint` }
  if (!isText(text)) return { problem: `${file}: ${notText(text)}` }
  try {
    return { value: await data.yaml(text, file) }
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    return { problem: `${file}, line ${error.line}, column ${error.column}: ${error.message}; expected YAML` }
  }
}

/** As deep as sub-installations are looked into. */
const MOST_DEPTH = 10

/**
 * Cycles of data flow among the sub-installations that an inline blueprint lists, and those that theirs list. What cannot be read has none: that
 * is told when a job begins.
 *
 * @param blueprint `spec.blueprint` of an Installation.
 */
export async function listedCycles(data: InlineBlueprintData, blueprint: unknown): Promise<readonly Problem[]> {
  return await cyclesBelow(data, blueprint, [])
}

/** @param parents the names of the sub-installations around it. */
async function cyclesBelow(
  data: InlineBlueprintData,
  spec: unknown,
  parents: readonly string[],
): Promise<readonly Problem[]> {
  const blueprint = parents.length > MOST_DEPTH ? undefined : await orNothing(readInlineBlueprint(data, spec))
  if (blueprint === undefined) return []
  const templates = await listedTemplates(data, blueprint, [])
  const cycle = findCycle(flowGraph(templates))
  const own = cycle === undefined ? [] : [cycleProblem(cycle, parents)]
  const below: Problem[] = []
  for (const { name, blueprint: inner } of templates)
    below.push(...(await cyclesBelow(data, inner, [...parents, name])))
  return [...own, ...below]
}

function cycleProblem(cycle: readonly string[], parents: readonly string[]): Problem {
  const where = parents.length === 0 ? '' : `, in ${formatCycle(parents)}`
  return {
    field: 'spec.blueprint.inline',
    found: `sub-installations that import from each other: ${formatCycle(cycle)}${where}`,
    expected: 'an order in which they can run',
  }
}

async function orNothing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof BlueprintError) return undefined
    throw error
  }
}
