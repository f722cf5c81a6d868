// Types of the JSON that the page reads, in schema/: of docs/schema, which etprof makes from what describes its values.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

const kNames = { analysis_summary: "Report", document: "Document", timeline: "Timeline" };

mkdirSync("schema", { recursive: true });
for (const [file, name] of Object.entries(kNames)) {
  // A title is for people, and would be the type's name.
  const { title: _, ...schema } = JSON.parse(readFileSync(`../docs/schema/${file}.schema.json`, "utf8"));
  writeFileSync(`schema/${file}.ts`, await compile(schema, name, { ignoreMinAndMaxItems: true }));
}
