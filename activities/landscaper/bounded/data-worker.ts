// The inside of the data thread: answers one question about tenants' data at a time.

import { readJson } from '../../../workflows/kit/index.ts'
import { parentPort } from 'node:worker_threads'
import { BlueprintError } from '../render/blueprint-error.ts'
import { unpackArchive } from '../render/blueprint-archive.ts'
import { YamlError, YamlSyntaxError } from '../../yaml/read-yaml.ts'
import { unpackedItems } from './packed-items.ts'
import { compileJsonPath } from '../deploy/objects/json-path.ts'
import { definitionOf, documentValue, foundValues, lackOf, yamlValue } from './data-answers.ts'
import { blueprintProblems, packedProblems } from './further-problems.ts'
import type { DataFault, DataQuestion, DataReply, YamlFault } from './data-questions.ts'
import { threadID } from './thread-id.ts'

async function answerTo(question: DataQuestion): Promise<unknown> {
  switch (question.ask) {
    case 'yaml':
      return yamlValue(question.text)
    case 'document':
      return documentValue(question.text)
    case 'definition':
      return definitionOf(question.text, question.json)
    case 'items':
      return unpackedItems(question.packed)
    case 'archive':
      return unpackArchive(Buffer.from(question.packed, 'base64'))
    case 'packedProblems':
      return packedProblems(question.packed)
    case 'blueprintProblems':
      return await blueprintProblems(question.blueprint)
    case 'values':
      return foundValues(question.object, question.paths.map(compileJsonPath))
    case 'unsatisfied': {
      const requirements = question.requirements.map((one) => ({ ...one, path: compileJsonPath(one.pathText) }))
      return lackOf(question.object, requirements)
    }
  }
}

function faultOf(error: unknown): DataFault | undefined {
  if (error instanceof YamlError) return yamlFault(error)
  if (!(error instanceof BlueprintError)) return undefined
  const { code, message, cause } = error
  return { of: 'definition', code, message, ...(cause instanceof YamlError && { cause: yamlFault(cause) }) }
}

function yamlFault(error: YamlError): YamlFault {
  const { line, column, reason, message } = error
  return { of: 'yaml', line, column, reason, message, ofSyntax: error instanceof YamlSyntaxError }
}

async function reply(text: string): Promise<DataReply> {
  try {
    // Written by tenant-data.ts.
    return { answer: await answerTo(readJson(text) as DataQuestion) }
  } catch (error) {
    const fault = faultOf(error)
    if (fault === undefined) throw error
    return { fault }
  }
}

const port = parentPort
if (port === null) throw new Error('data worker: started as a program, expected to be a worker thread')
// What is no fault of the author's is unhandled, and ends the thread.
port.on('message', (question: string) => void reply(question).then((answer) => port.postMessage(answer)))
port.postMessage({ threadID: threadID() })
