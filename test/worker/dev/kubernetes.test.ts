import { readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import { expect, it } from 'vitest'

import { stagesFor } from '../../../worker/dev/kubernetes.ts'

interface Stage {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly selector: { readonly matchExpressions: readonly { key: string; operator: string }[] } }
}

it('kwok neither starts nor deletes pods with a label that a wing declares, or with the label of tests', () => {
  const template = readFileSync(new URL('../../../deploy/binaries/kwok/stages.yaml', import.meta.url), 'utf8')
  const stages = parseAllDocuments(stagesFor(template, ['a/b', 'c/d'])).map((document) => document.toJS() as Stage)
  const ignored = (name: string) =>
    stages
      .find(({ metadata }) => metadata.name === name)
      ?.spec.selector.matchExpressions.flatMap(({ key, operator }) => (operator === 'DoesNotExist' ? [key] : []))
  const labels = ['pawl.dev/node-agent', 'a/b', 'c/d'].map((label) => `.metadata.labels["${label}"]`)
  for (const name of ['pod-running', 'pod-deleted']) expect(ignored(name)).toEqual(expect.arrayContaining(labels))
})
