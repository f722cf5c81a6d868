// Generates TypeScript types in schema/ for the JSON that the page reads, from the JSON Schemas in docs/schema.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

const kNames = { analysis_summary: "Report", document: "Document", timeline: "Timeline" };

mkdirSync("schema", { recursive: true });
for (const [file, name] of Object.entries(kNames)) {
  // The title is removed, because it would become the type's name.
  const { title: _, ...schema } = JSON.parse(readFileSync(`../docs/schema/${file}.schema.json`, "utf8"));
  writeFileSync(`schema/${file}.ts`, await compile(schema, name, { ignoreMinAndMaxItems: true }));
}
