import { start } from "./own.js";

start("/api/explore/influence", { numbers: ["p", "q", "length", "epsilon", "per_entry"], sliders: ["p", "q", "length"], file: "prior" });
