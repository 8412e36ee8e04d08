// The content of a file as a JSON value: text, or base64 for binary content.

import { isUtf8 } from 'node:buffer'

/** Text, or bytes that are not UTF-8. deploy/templates/content.go reads this form. */
export type FileContent = string | BinaryContent

export interface BinaryContent {
  readonly base64: string
}

export function toFileContent(bytes: Buffer): FileContent {
  return isUtf8(bytes) ? bytes.toString('utf8') : { base64: bytes.toString('base64') }
}

export function isText(content: FileContent): content is string {
  return typeof content === 'string'
}

/** Text for messages; bytes that are not UTF-8 become replacement characters. */
export function displayText(content: FileContent): string {
  return isText(content) ? content : Buffer.from(content.base64, 'base64').toString('utf8')
}

/** The problem with binary content where text is expected; continues "FILE: ". The process that checks schemas uses this, too, and has no Buffer. */
export function notTextProblem({ base64 }: BinaryContent): string {
  const bytes = (base64.length / 4) * 3 - (base64.length - base64.replace(/=+$/, '').length)
  return `found ${bytes} bytes that are not UTF-8; expected text`
}

/** Decodes a percent-encoded text; a text with an invalid encoding is returned unchanged. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return text
    throw error
  }
}
